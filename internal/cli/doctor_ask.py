# What `ullage doctor` asks a Python interpreter. It is given to "python -c" with three arguments: how the interpreter was called,
# and the folder and the run that `ullage run` would have it find the companion by (or two empty ones). It prints a line of JSON after each step, so that what was learnt before a step that hangs or crashes is not lost. It is
# written for every Python there is, 2.7 too: that one is too old has to be said by it.
import json
import os
import subprocess
import sys


def tell(step, **known):
    known["step"] = step
    sys.stdout.write("ullage-doctor " + json.dumps(known) + "\n")
    sys.stdout.flush()


def short(error):
    return ("%s: %s" % (type(error).__name__, error))[:2000]


def where(name):
    from importlib.util import find_spec

    found = find_spec(name)
    return found.origin if found else None


def python():
    tell(
        "python",
        version="%d.%d.%d" % tuple(sys.version_info[:3]),
        executable=sys.executable,
        prefix=sys.prefix,
        isolated=bool(sys.flags.ignore_environment or getattr(sys.flags, "isolated", 0)),
        no_site=bool(sys.flags.no_site),
        sitecustomize=where("sitecustomize"),
        cpus=os.cpu_count(),
    )


def inject(program, site, run):
    look = "import sys; print('ullage._companion.start' in sys.modules)"
    environ = dict(os.environ, ULLAGE_RUN=run)
    environ["PYTHONPATH"] = os.pathsep.join([site] + [p for p in [environ.get("PYTHONPATH")] if p])
    made = subprocess.Popen([program, "-c", look], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = made.communicate()
    tell("inject", works=out.strip() == b"True", said=err.decode("utf-8", "replace")[-500:])


def torch_files():
    origin = where("torch")
    if origin is None:
        tell("torch-files", found=False)
        return False
    known = {}
    try:
        with open(os.path.join(os.path.dirname(origin), "version.py")) as f:
            exec(f.read(), known)
    except Exception as error:
        tell("torch-files", found=True, origin=origin, error=short(error))
        return True
    tell("torch-files", found=True, origin=origin, version=str(known.get("__version__", "")), cuda=known.get("cuda"), hip=known.get("hip"))
    return True


def torch_build(torch):
    flags = getattr(torch._C, "_cuda_getArchFlags", None)  # torch.cuda.get_arch_list() tells nothing without a GPU
    tell(
        "torch",
        version=str(torch.__version__),
        cuda=torch.version.cuda,
        hip=getattr(torch.version, "hip", None),
        archs=(flags() or "").split() if flags else [],
    )


def devices(torch):
    # The driver's count: torch.cuda.device_count() may be one that PyTorch computes from the variables. Properties make no
    # CUDA context; to ask for free memory would.
    for index in range(torch._C._cuda_getDeviceCount()):
        p = torch.cuda.get_device_properties(index)
        uuid = getattr(p, "uuid", None)
        yield {
            "name": p.name,
            "capability": "%d.%d" % (p.major, p.minor),
            "total_bytes": p.total_memory,
            "uuid": "" if uuid is None else str(uuid),
            "integrated": bool(getattr(p, "is_integrated", False)),
        }


def settings(torch):
    backend = torch.cuda.get_allocator_backend()
    if backend != "native":
        return {"backend": backend}
    known = torch.cuda.memory._snapshot().get("allocator_settings")
    return {"backend": backend, "settings": known}


def cuda(torch):
    try:
        torch.cuda.init()
    except Exception as error:
        tell("cuda", error=short(error))
        return
    try:
        found = list(devices(torch))
    except Exception as error:
        tell("cuda", error=short(error))
        return
    tell("cuda", devices=found)
    try:
        tell("settings", **settings(torch))
    except Exception as error:
        tell("settings", error=short(error))


def main(program, site, run):
    python()
    if site:
        try:
            inject(program, site, run)
        except Exception as error:
            tell("inject", works=False, said=short(error))
    if not torch_files():
        return
    try:
        import torch

        torch_build(torch)
    except BaseException as error:
        tell("torch", error=short(error))
        return
    if torch.version.cuda:
        cuda(torch)


if sys.version_info < (3, 5):
    tell("python", version="%d.%d.%d" % tuple(sys.version_info[:3]), executable=sys.executable)
else:
    sys.path[:] = [p for p in sys.path if p]  # "python -c" finds modules in the current folder, a script does not
    main(*sys.argv[1:4])
    tell("end")
