"""microbatch: a batch that doesn't fit goes through in pieces, and the gradients are those of the whole batch."""
from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, ContextManager, Hashable, Iterator, Optional

from .. import _checks as checks
from . import gradients, saved, split
from .attempts import Run
from .ranks import Ranks
from .report import Report
from .retry import Retry

log = logging.getLogger("ullage")


def microbatch(
    model: Any,
    loss: Callable[..., Any],
    *,
    size: Optional[int] = None,
    floor: int = 1,
    attempts: int = 10,
    reduction: str = "mean",
    weight: Optional[Callable[[Any], Any]] = None,
    backward: Optional[Callable[[Any], object]] = None,
    samples: Callable[[Any], int] = split.samples,
    take: Callable[[Any, int, int], Any] = split.take,
    key: Optional[Callable[[], Hashable]] = None,
    overlap: bool = False,
    group: Any = None,
    agree: bool = True,
    timeout_s: float = 300.0,
) -> MicroBatch:
    """Forward and backward of a batch, in as many pieces as memory asks for.

        run = microbatch(model, lambda batch: F.cross_entropy(model(batch["x"]), batch["y"]))
        for batch in loader:
            optimizer.zero_grad()
            value = run(batch)            # the loss of the whole batch, detached; gradients are in .grad
            optimizer.step()

    model       the module whose gradients are meant. DistributedDataParallel is known: its gradients are averaged over the ranks once
                all pieces of all ranks are through.
    loss        from a piece of the batch, and whatever else run() is given, to a loss of one number. Without gradients (torch.no_grad)
                nothing goes backward, and the size is remembered separately.
    size        samples in a piece to begin with; the whole batch by default. After running out of memory it is halved, down to floor,
                and the whole batch is done again from the gradients, random numbers and running statistics that it began with.
    reduction   what loss does with its samples: "mean", or "sum". Anything else than these two can't be put together from pieces.
    weight      for "mean": the number of things that the mean of a piece is over; its samples by default. For a mean over tokens, their
                number: lambda piece: (piece["labels"] != -100).sum().
    backward    how to go backward from a loss: lambda loss: scaler.scale(loss).backward(), or accelerator.backward.
    samples, take
                the number of samples in a batch, and those from start to stop: by default, of all tensors in nested dicts, lists and
                tuples along their first dimension.
    overlap     with DDP: the last piece averages gradients while it goes backward, as DDP does. Faster, but a rank that runs out of
                memory in that piece leaves the others waiting; by default they agree first.
    group, agree, timeout_s   as in retry_on_oom.

    Raises what the loss raised, as retry_on_oom does; ValueError for a loss of more than one number, for a batch that can't be cut,
    and for FSDP, whose forward pass waits for other ranks.
    """
    checks.module("model", model, hint="microbatch(model, loss)" if callable(model) else "")
    gradients.check(model)
    _check_functions(loss, weight, backward, samples, take, key)
    if checks.choice("reduction", reduction, ("mean", "sum")) == "sum" and weight is not None:
        raise ValueError("weight is given for reduction='sum', but a sum has no weights: leave it out")
    checks.flag("overlap", overlap)
    whole = size if size is not None else 2**62  # larger than any batch
    retry: Retry[int] = Retry(size=checks.whole("size", whole, least=1), floor=floor, attempts=attempts, key=key,
                              ranks=Ranks(group, timeout_s, agree))
    return MicroBatch(model, loss, retry, reduction, weight, backward, samples, take, overlap)


def _check_functions(loss: Any, weight: Any, backward: Any, samples: Any, take: Any, key: Any) -> None:
    checks.function("loss", loss)
    checks.optional(checks.function, "weight", weight, given="a piece of the batch")
    checks.optional(checks.function, "backward", backward, given="a loss", hint="backward=lambda loss: scaler.scale(loss).backward()")
    checks.function("samples", samples, given="a batch")
    checks.function("take", take, given="a batch, start and stop", arguments=3)
    checks.optional(checks.function, "key", key, given="nothing", arguments=0)


class MicroBatch:
    """What microbatch returns: call it with a batch. Remembers the size that worked."""

    def __init__(
        self, model: Any, loss: Callable[..., Any], retry: Retry[int], reduction: str, weight: Optional[Callable[[Any], Any]],
        backward: Optional[Callable[[Any], object]], samples: Callable[[Any], int], take: Callable[[Any, int, int], Any], overlap: bool,
    ) -> None:
        self.model, self.loss, self.retry, self.reduction, self.weight = model, loss, retry, reduction, weight
        self.backward, self.samples, self.take, self.overlap = backward, samples, take, overlap
        self._warned = False

    @property
    def report(self) -> Optional[Report]:
        """What happened with the newest batch; None before the first."""
        return self.retry.report

    def size(self, key: Hashable = "train") -> Optional[int]:
        """The samples in a piece that batches are cut to, or None where they have gone through whole."""
        size = self.retry.sizes.get(key, self.retry.size)
        return size if size != 2**62 else None

    def __call__(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """The loss of the whole batch, detached, on its device. Gradients are added to what is in .grad."""
        import torch

        count = checks.whole("what samples returned", self.samples(batch))
        if count < 1:
            raise ValueError("the batch is empty")
        key = self.retry.key()
        run = Run(self.retry, key, min(count, self.retry.sizes.get(key, self.retry.size) or count))
        training = torch.is_grad_enabled()
        gradients.share_buffers(self.model)
        undo = self._start(training)
        first = True
        for attempt in run.attempts():
            if not first:
                undo()
            first = False
            with attempt:
                value = self._pieces(batch, split.even(count, attempt.size), training, args, kwargs)
        if training and not self.overlap:
            gradients.average(self.model)
        return value

    def _pieces(self, batch: Any, edges: list[tuple[int, int]], training: bool, args: Any, kwargs: Any) -> Any:
        """All pieces of a batch, forward and backward; returns their loss put together."""
        self._warn_of_batch_norm(len(edges))
        total: Any = None
        for (start, stop), share, last in self._shares(batch, edges):
            piece = batch if len(edges) == 1 else self.take(batch, start, stop)
            with self._synchronised(last):
                part = _one_number(self.loss(piece, *args, **kwargs))
                if share != 1:
                    part = part * share
                if training:
                    (self.backward or _backward)(part)
            total = part.detach() if total is None else total + part.detach()
        return total

    def _shares(self, batch: Any, edges: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], float, bool]]:
        """The pieces with what the loss of each counts for, and whether it is the last.

        A piece whose weight is 0 is left out: its mean is not a number, and the whole batch's doesn't depend on it.
        """
        weights = [1.0] * len(edges)
        if self.reduction == "mean" and len(edges) > 1:
            weights = [self._weight(batch, *edge) for edge in edges]
        whole = sum(weights) if self.reduction == "mean" else 1.0
        if whole == 0:  # the mean over nothing is not a number, in pieces as at once
            weights, whole = [1.0] * len(edges), float(len(edges))
        counted = [(edge, w / whole) for edge, w in zip(edges, weights) if w != 0]
        for i, (edge, share) in enumerate(counted):
            yield edge, share, i == len(counted) - 1

    def _weight(self, batch: Any, start: int, stop: int) -> float:
        if self.weight is None:
            return float(stop - start)
        return checks.number("what weight returned", self.weight(self.take(batch, start, stop)), least=0)

    def _synchronised(self, last: bool) -> ContextManager[Any]:
        """DDP must not average after each piece: after the last one, or, by default, not within the attempt at all."""
        if not gradients.is_ddp(self.model) or (self.overlap and last):
            return contextlib.nullcontext()
        return self.model.no_sync()  # type: ignore[no-any-return]

    def _start(self, training: bool) -> saved.Undo:
        """Notes what a failed attempt changes: gradients, random numbers, and the running statistics of batch norms."""
        undo = [saved.save_random()]
        if training:
            undo.append(saved.save_gradients(self.model.parameters()))
        undo.append(saved.save_tensors(b for norm in gradients.batch_norms(self.model) for b in norm.buffers()))

        def put() -> None:
            for one in undo:
                one()

        return put

    def _warn_of_batch_norm(self, pieces: int) -> None:
        if pieces > 1 and not self._warned and next(gradients.batch_norms(self.model), None) is not None:
            self._warned = True
            log.warning("ullage: the model has batch norms in training mode: each piece is normalised by its own statistics, so that"
                        " gradients differ from the whole batch's. hint: put them in eval mode, or use group norms")


def _one_number(loss: Any) -> Any:
    """What the program's loss returned, if it is one."""
    import torch

    if not isinstance(loss, torch.Tensor):
        hint = "return its .loss" if hasattr(loss, "loss") else "return the tensor, not its .item()" if isinstance(loss, float) else ""
        raise checks.wrong("what loss returned", loss, "a tensor of one number", hint)
    if loss.dim() != 0 and loss.numel() != 1:
        raise ValueError(f"the loss has shape {tuple(loss.shape)}, but has to be one number: a mean or a sum over samples")
    return loss


def _backward(loss: Any) -> None:
    loss.backward()
