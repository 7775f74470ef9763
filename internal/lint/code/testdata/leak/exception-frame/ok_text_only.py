# The message of an exception has no frames.
import torch


def run(jobs, results):
    errors = []
    for job in jobs:
        try:
            results.append(job.run())
        except torch.cuda.OutOfMemoryError as e:
            errors.append(str(e))
            errors.append(repr(e))
        except KeyError as e:
            errors.append(e)
    return errors


def stripped(job):
    kept = None
    try:
        job.run()
    except torch.cuda.OutOfMemoryError as e:
        kept = e.with_traceback(None)
    return kept
