class Recorder:
    def _dump_snapshot(self, path):
        with open(path, "w") as f:
            f.write("{}")


Recorder()._dump_snapshot("state.json")
