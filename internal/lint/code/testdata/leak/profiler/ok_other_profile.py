import cProfile

from line_profiler import profile


@profile
def work(items):
    for item in items:
        item.run()


with cProfile.Profile() as pr:
    for _ in iter(int, 1):
        work([])
