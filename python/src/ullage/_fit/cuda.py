"""Answers for torch.cuda: a card that is not there, its streams, and counts of the memory that the program has taken so far.

torch.cuda's own code runs as it is; what it would ask of C++ (torch._C._cuda_*) is answered here, in builds without CUDA too.
"""
from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, Optional

import torch

from . import graphs, streams
from .config import Config
from .faults import Unsupported
from .storages import Meter, Storages
from .trace import Trace, caller


class Card:
    """The GPUs that the program is shown: which is current in each thread, and with which stream."""

    def __init__(self, config: Config, trace: Trace, storages: Storages) -> None:
        self.config, self.trace, self.storages = config, trace, storages
        self._here = threading.local()
        self._last = 0  # the device that was made current last, in any thread
        self.fractions = [1.0] * config.devices

    # --- the current device and stream

    def current_device(self) -> int:
        """The current device's ordinal in this thread: in one of autograd's, that of the program, as autograd sees to."""
        mine: Optional[int] = getattr(self._here, "device", None)
        if mine is not None:
            return mine
        return self._last if torch._C._current_graph_task_id() >= 0 else 0

    def set_device(self, device: int) -> int:
        """Makes a device current and returns the one that was. Raises RuntimeError for one that there is not."""
        self.require(device)
        before = self.current_device()
        self._here.device = self._last = device
        return before

    def require(self, device: int) -> None:
        """Raises RuntimeError for a GPU that the program is not shown."""
        if not 0 <= device < self.config.devices:
            raise Unsupported(
                f"CUDA error: invalid device ordinal: the program asked for GPU {device} and is shown {self.config.devices}, "
                f"counted from 0; --ranks {device + 1} shows it {device + 1}"
            )

    def maybe_set_device(self, device: int) -> int:
        """As set_device, and nothing for a negative ordinal."""
        return self.set_device(device) if device >= 0 else -1

    def current_stream_id(self, device: Optional[int] = None) -> int:
        """The current stream of a device: 0 for the default one."""
        at: dict[int, int] = getattr(self._here, "streams", {})
        return at.get(self.current_device() if device is None or device < 0 else device, 0) if at else 0

    def set_stream(self, stream_id: int, device_index: int, device_type: int = 1) -> None:
        """Makes a stream current on its device."""
        if not hasattr(self._here, "streams"):
            self._here.streams = {}
        self._here.streams[device_index] = stream_id
        self._here.device = device_index

    # --- what it is

    def properties(self, device: int) -> SimpleNamespace:
        """As torch.cuda.get_device_properties."""
        d = self.config.device
        return SimpleNamespace(
            name=d.name,
            major=d.major,
            minor=d.minor,
            total_memory=d.total_bytes,
            multi_processor_count=d.multiprocessors,
            is_integrated=0,
            is_multi_gpu_board=0,
            max_threads_per_multi_processor=d.max_threads_per_multiprocessor,
            max_threads_per_block=1024,
            shared_memory_per_block=d.shared_memory_per_block,
            shared_memory_per_block_optin=d.shared_memory_per_block_optin,
            shared_memory_per_multiprocessor=d.shared_memory_per_multiprocessor,
            regs_per_multiprocessor=d.regs_per_multiprocessor,
            L2_cache_size=d.l2_bytes,
            warp_size=d.warp_size,
            gcnArchName="",
            clock_rate=1980000,
            memory_clock_rate=3201000,
            memory_bus_width=6144,
            pci_bus_id=device,
            pci_device_id=0,
            pci_domain_id=0,
            uuid=f"00000000-0000-0000-0000-{device:012d}",
        )

    # --- memory

    def memory_info(self, device: int) -> tuple[int, int]:
        """As cudaMemGetInfo: bytes free and in all, if nothing but this program's cache were there."""
        total = self.config.device.total_bytes
        return max(0, total - self.storages.meters[device].reserved), total

    def memory_stats(self, device: int) -> dict[str, Any]:
        """As torch._C._cuda_memoryStats, from running counts: no cache is simulated here."""
        return _stats(self.storages.meters[device])

    def empty_cache(self) -> None:
        """As torch.cuda.empty_cache."""
        self.trace.line("empty_cache")
        for meter in self.storages.meters:
            meter.empty_cache()

    def reset_peak(self, device: int) -> None:
        """As torch.cuda.reset_peak_memory_stats."""
        self.trace.line("reset_peak")
        self.storages.meters[device].reset_peak()

    def set_fraction(self, fraction: float, device: int) -> None:
        """As torch.cuda.set_per_process_memory_fraction, which is noted: nothing runs out of memory here."""
        self.fractions[device] = fraction
        self.trace.line("fraction", value=fraction, d=device or None)

    def synchronize(self, *_: Any) -> None:
        """As torch.cuda.synchronize."""
        stack = self.trace.stack(caller())
        self.trace.line("sync", k=stack if stack >= 0 else None)


def _stats(meter: Meter) -> dict[str, Any]:
    def row(current: int, peak: int) -> dict[str, int]:
        return {"current": current, "peak": peak, "allocated": meter.allocations, "freed": meter.frees}

    def pools(current: int, peak: int) -> dict[str, dict[str, int]]:
        return {"all": row(current, peak), "large_pool": row(current, peak), "small_pool": row(0, 0)}

    used, held = (meter.allocated, meter.peak), (meter.reserved, meter.reserved_peak)
    count = meter.allocations - meter.frees
    none = row(0, 0)
    return {
        "num_alloc_retries": 0,
        "num_ooms": 0,
        "num_sync_all_streams": 0,
        "num_device_alloc": 0,
        "num_device_free": 0,
        "max_split_size": -1,
        "allocation": pools(count, count),
        "segment": pools(0, 0),
        "active": pools(count, count),
        "inactive_split": pools(0, 0),
        "allocated_bytes": pools(*used),
        "reserved_bytes": pools(*held),
        "active_bytes": pools(*used),
        "requested_bytes": pools(meter.requested, meter.requested),
        "inactive_split_bytes": pools(held[0] - used[0], held[1] - used[1]),
        "oversize_allocations": none,
        "oversize_segments": none,
    }


def install(card: Card) -> None:
    """Puts the answers in place of what C++ would say."""
    c, devices = torch._C, card.config.devices
    answers: dict[str, Any] = {
        "_cuda_init": lambda: None,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_getDeviceCount": lambda: devices,
        "_cuda_getDevice": card.current_device,
        "_cuda_setDevice": card.set_device,
        "_cuda_exchangeDevice": card.set_device,
        "_cuda_maybeExchangeDevice": card.maybe_set_device,
        "_cuda_canDeviceAccessPeer": lambda a, b: True,
        "_cuda_getDriverVersion": lambda: card.config.driver,
        "_cuda_getCompiledVersion": lambda: card.config.driver,
        "_cuda_getArchFlags": lambda: " ".join(sorted({"sm_80", "sm_90", "sm_%d%d" % card.config.device.capability})),
        "_cuda_synchronize": card.synchronize,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": lambda cycles: None,
        "_cuda_setStream": card.set_stream,
        "_cuda_getCurrentStream": lambda device: (card.current_stream_id(device), device if device >= 0 else card.current_device(), 1),
        "_cuda_getDefaultStream": lambda device: (0, device if device >= 0 else card.current_device(), 1),
        "_cuda_getCurrentRawStream": card.current_stream_id,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_cuda_emptyCache": card.empty_cache,
        "_cuda_memoryStats": card.memory_stats,
        "_cuda_resetAccumulatedMemoryStats": lambda device: None,
        "_cuda_resetPeakMemoryStats": card.reset_peak,
        "_cuda_hostMemoryStats": dict,
        "_cuda_memorySnapshot": lambda *_: {"segments": [], "device_traces": [[] for _ in range(devices)], "allocator_settings": {}},
        "_cuda_record_memory_history": lambda *a, **k: None,
        "_cuda_record_memory_history_legacy": lambda *a, **k: None,
        "_cuda_attach_out_of_memory_observer": lambda observer: None,
        "_cuda_setMemoryFraction": card.set_fraction,
        "_cuda_getMemoryFraction": lambda device: card.fractions[device],
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_set_sync_debug_mode": lambda mode: None,
        "_cuda_get_sync_debug_mode": lambda: 0,
        "_cuda_lock_mutex": lambda: None,
        "_cuda_unlock_mutex": lambda: None,
        "_cuda_cudaHostAllocator": lambda: 0,
        "_get_accelerator": lambda *_: torch.device("cuda"),
    }
    for name, function in answers.items():
        setattr(c, name, function)
    _install_module(card)
    streams.install(card)
    graphs.install(card.trace)


def _install_module(card: Card) -> None:
    """What torch.cuda itself keeps, or asks of libraries other than torch's."""
    cuda: Any = torch.cuda
    devices = card.config.devices
    cuda._is_compiled = lambda: True
    cuda.is_current_stream_capturing = cuda.graphs.is_current_stream_capturing = lambda: False
    cuda.is_available = lambda: True
    cuda.device_count = cuda.random.device_count = lambda: devices  # seeds are set for each: those of this machine do not count
    cuda._get_device_properties = card.properties
    cuda.default_generators = tuple(Generator(torch.device("cuda", i)) for i in range(devices))
    cuda._exchange_device, cuda._maybe_exchange_device = card.set_device, card.maybe_set_device
    cuda._lazy_init = lambda: _initialize(card)
    cuda.init = cuda._lazy_init
    cuda.is_initialized = cuda.memory.is_initialized = lambda: True
    cuda.cudart = lambda: _Runtime(card)
    cuda.memory.mem_get_info = cuda.mem_get_info = lambda device=None: card.memory_info(_ordinal(card, device))
    cuda.get_device_capability = lambda device=None: card.config.device.capability
    cuda.is_bf16_supported = lambda including_emulation=True: card.config.device.major >= 8 or including_emulation
    cuda.is_tf32_supported = lambda: card.config.device.major >= 8
    for name in ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate"):
        setattr(cuda, name, lambda device=None: 0)
    torch.backends.cuda.is_built = lambda: True
    torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
    torch.accelerator.is_available = lambda: True
    torch.accelerator.device_count = lambda: devices
    if hasattr(torch.accelerator, "current_device_index"):
        torch.accelerator.current_device_index = card.current_device
        torch.accelerator.set_device_index = lambda device: cuda.set_device(device)
        torch.accelerator.synchronize = card.synchronize
        torch.accelerator.current_stream = lambda device=None: cuda.current_stream(device)
        torch.accelerator.set_stream = lambda stream: cuda.set_stream(stream)


def _ordinal(card: Card, device: Any) -> int:
    if device is None:
        return card.current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return card.current_device() if index is None else int(index)


def _initialize(card: Card) -> None:
    """Runs what was put off until CUDA is used, as torch.cuda._lazy_init."""
    cuda: Any = torch.cuda
    cuda._initialized = True
    calls, cuda._queued_calls[:] = list(cuda._queued_calls), []
    for call, _ in calls:
        if getattr(call, "__module__", "") != "torch.cuda":  # torch's own check the card against the build
            call()


_base_generator: Any = torch.Generator


class Generator(_base_generator):  # type: ignore[misc]
    """torch.Generator; one of the GPU is one of the CPU beneath, which nobody draws from."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return _base_generator.__new__(cls, device="cpu")

    def __init__(self, device: Any = "cpu") -> None:
        self._ullage_device = torch.device(device)

    @property
    def device(self) -> torch.device:
        return self._ullage_device

    @property
    def _is_on_gpu(self) -> bool:
        return self._ullage_device.type == "cuda"

    def get_offset(self) -> int:
        return 0

    def set_offset(self, offset: int) -> Any:
        return self

    def get_state(self) -> Any:
        """As torch's; of the GPU, seed and offset: 16 bytes of the CPU."""
        if not self._is_on_gpu:
            return super().get_state()
        return torch.tensor([self.initial_seed() & (2**63 - 1), 0]).view(torch.uint8)

    def set_state(self, new_state: torch.Tensor) -> Any:
        return self if self._is_on_gpu else super().set_state(new_state)


class _Runtime:
    """torch.cuda.cudart(): the calls that scripts make to start and stop a profiler, or to pin memory, do nothing."""

    class cudaError:
        success = 0

    def __init__(self, card: Card) -> None:
        self._card = card

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:
        return self._card.memory_info(device)

    def cudaGetErrorString(self, code: int) -> str:
        return "no error"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return lambda *_: 0
