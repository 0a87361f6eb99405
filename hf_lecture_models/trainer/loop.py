# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The one training loop. It knows no task, only a model that returns a mean loss, batches of items, and an evaluation.

Let i run over the micro-batches of all processes in one optimizer step, and m_i be the mean loss over the n_i items of
micro-batch i. Then

    loss = Σ_i m_i n_i / Σ_i n_i

so that each item has the same weight, however the step is cut into micro-batches and processes. If the model's loss is
the sum of two means, m_i over n_i items and s_i over k_i others, each is weighted by its own count:

    loss = Σ_i m_i n_i / Σ_i n_i + Σ_i s_i k_i / Σ_i k_i
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import (
    DistributedType,
    GradientAccumulationPlugin,
    broadcast_object_list,
    gather_object,
    parse_flag_from_env,
    set_seed,
)
from torch import nn
from transformers.utils.logging import is_progress_bar_enabled

from hf_lecture_models.io.files import staged_folder, write_file
from hf_lecture_models.io.progress import no_progress
from hf_lecture_models.io.recipe import write_yaml
from hf_lecture_models.io.runs import received_signals, run_lock
from hf_lecture_models.trainer import checkpoint as saved
from hf_lecture_models.trainer.batches import Batch, Batches, RowShard
from hf_lecture_models.trainer.optimization import Schedule, clip_gradients, make_optimizer, parameter_groups
from hf_lecture_models.trainer.plan import EARLY_STOPPING, MINUTES, make_plan
from hf_lecture_models.trainer.processes import LAUNCHER_VARIABLES, all_reduce_sum, check_launcher, check_processes
from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.reporting import Progress, Reporter, silent_saving
from hf_lecture_models.trainer.resuming import go_back, read_newest
from hf_lecture_models.trainer.sharding import (
    copy_to_shard,
    gather_optimizer_state,
    gather_weights,
    shard_model,
    sharding_plugin,
)
from hf_lecture_models.trainer.tracking import check_tracker, start_tracker

ParameterGroups = Callable[[nn.Module, TrainingRecipe], list[dict[str, Any]]]
OptimizerFactory = Callable[[list[dict[str, Any]], TrainingRecipe], torch.optim.Optimizer]
Update = Callable[[Any, Batch], torch.Tensor]
"""A model's own way to learn, for models whose steps are so small that the loop's would take most of the time: given
the optimizer and a batch, it changes the weights in place of forward and backward pass, clipping and
`optimizer.step()`, and returns the mean loss over the items. It runs in one process only."""


@dataclass(frozen=True)
class Evaluation:
    """The measurement of the model during training.

    Attributes:
        measure: returns named numbers for the model, which is in eval mode; called in the main process only.
        metric: the name of the number that decides which weights are the best.
        lower_is_better: the metric's direction.
        baseline: name and measures of a trivial baseline on the same data, which reports show; None: no baseline.
    """

    measure: Callable[[nn.Module], dict[str, Any]]
    metric: str
    lower_is_better: bool = True
    baseline: tuple[str, Mapping[str, float]] | None = None

    @property
    def baseline_value(self) -> str:
        """The baseline's name and its value of the metric, as reports show them; "" without a baseline.

        >>> Evaluation(dict, "accuracy", False, ("most frequent class", {"accuracy": 0.55})).baseline_value
        'most frequent class 0.55'
        """
        if self.baseline is None or self.metric not in self.baseline[1]:
            return ""
        return f"{self.baseline[0]} {self.baseline[1][self.metric]:.4g}"

    def improves(self, value: float, best: float | None) -> bool:
        """Return whether `value` is strictly better than the best so far."""
        return best is None or (value < best if self.lower_is_better else value > best)


@dataclass(frozen=True)
class TrainingResult:
    """The result of a run.

    Attributes:
        seconds: the duration of the whole run, evaluation and saving included.
        items: the number of items in all steps, for a language model predicted tokens.
        items_per_second: the speed of the optimizer steps alone.
        stopped: "" if the run reached its last step, else "early stopping", "minutes", "SIGINT" or "SIGTERM".
        ending: why the run ended, in words; "" where its recipe says it, or a signal came.
        history: rows of `step`, `epoch` and either `loss` and `learning_rate`, or `validation_...`.
    """

    folder: Path
    step: int
    seconds: float
    items: int
    items_per_second: float
    metric_name: str
    best_metric: float | None
    stopped: str
    history: list[dict[str, Any]]
    ending: str = ""


def train(
    model: nn.Module,
    batches: Batches,
    recipe: TrainingRecipe,
    output_dir: str | os.PathLike[str],
    *,
    evaluation: Evaluation | None = None,
    save_with: Sequence[Any] = (),
    groups: ParameterGroups = parameter_groups,
    optimizer_factory: OptimizerFactory = make_optimizer,
    update: Update | None = None,
    forward_options: Mapping[str, Any] = MappingProxyType({}),
    items_name: str = "items",
    fingerprints: Mapping[str, str] = MappingProxyType({}),
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train `model` and save the best weights (without `evaluation`: the last ones) in `output_dir`.

    Args:
        model: as in transformers, `model(**batch.inputs, **forward_options).loss` is the mean over the batch's items.
            After a sharded run only the main process's model is trained.
        save_with: other objects with `save_pretrained` to save with the model, such as the tokenizer.
        fingerprints: checksums of what else the weights depend on, by name; a resumed run must have the same ones.
        resume: continue from the newest complete checkpoint, on the CPU to the bits of an uninterrupted run.

    Raises:
        ValueError: `output_dir` holds a run and `resume` is false; or recipe, data or checkpoints do not fit the run.
        FloatingPointError: a loss, gradient, weight or metric is not finite; earlier checkpoints stay.
        OSError: the folder cannot be written, or another run is writing to it.
    """
    if not os.fspath(output_dir):
        raise ValueError("output_dir is empty; name a folder")
    folder = Path(output_dir).absolute()
    accelerator = _make_accelerator(recipe, folder)
    with run_lock(folder) if accelerator.is_main_process else nullcontext(), no_progress(quiet):
        plan = make_plan(recipe, batches.steps_per_epoch, "" if evaluation is None else evaluation.metric)
        with closing(Reporter(accelerator, folder, recipe, plan, items_name, quiet)) as reporter:
            run = _Run(model, batches, recipe, evaluation, save_with, update, forward_options, fingerprints, reporter)
            run.prepare(groups, optimizer_factory, resume)
            return run.run()


def _make_accelerator(recipe: TrainingRecipe, folder: Path) -> Accelerator:
    """Return the accelerator of a run, on exactly the processes that were asked for.

    Raises:
        ImportError: the recipe names a tracker that is not installed.
        ValueError: another number of processes runs than was requested, or the launcher asks for something that the
            loop does not support or the recipe contradicts.
    """
    is_launched = not LAUNCHER_VARIABLES.isdisjoint(os.environ)
    if is_launched:
        check_launcher(recipe)
    if recipe.report_to != "none":
        check_tracker(recipe.report_to)
    accelerator = Accelerator(
        # The loop casts by itself: accelerate's wrapper also copies all outputs, logits included, to float32.
        mixed_precision="no",
        # Spelled out, because otherwise an environment variable would divide the loss a second time.
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
        log_with=None if recipe.report_to == "none" else recipe.report_to,
        project_dir=folder / "runs",
        fsdp_plugin=sharding_plugin([]) if parse_flag_from_env("ACCELERATE_USE_FSDP") else None,
    )
    if is_launched or recipe.num_processes or accelerator.distributed_type != DistributedType.NO:
        check_processes(accelerator, recipe)
    return accelerator


@dataclass
class _Run:
    """One run: its parts, and the order in which they act."""

    plain_model: nn.Module
    batches: Batches
    recipe: TrainingRecipe
    evaluation: Evaluation | None
    save_with: Sequence[Any]
    update: Update | None
    forward_options: Mapping[str, Any]
    fingerprints: Mapping[str, str]
    reporter: Reporter

    def prepare(self, groups: ParameterGroups, optimizer_factory: OptimizerFactory, resume: bool) -> None:
        """Place model and optimizer on their devices; with `resume`, go back to the newest checkpoint."""
        recipe, reporter = self.recipe, self.reporter
        self.folder, self.plan = reporter.folder, reporter.plan
        self.accelerator = accelerator = reporter.accelerator
        if accelerator.is_main_process:
            saved.remove_stale(self.folder)
            if not resume and saved.holds_run(self.folder):
                raise ValueError(f"{self.folder} holds a run; `resume` continues it, or name another folder")
        # Before the model is spread over the processes, so that each takes its part of the saved weights.
        state = read_newest(self.plain_model, recipe, self.fingerprints, reporter) if resume else None
        places = (accelerator.process_index, accelerator.num_processes, accelerator.device)
        self.batches.set_shard(RowShard(recipe.batch_size, recipe.accumulation_steps, *places))
        # Sharded, the plain model stays whole beside the one that learns: it is what is measured and saved.
        self.sharded = accelerator.distributed_type == DistributedType.FSDP
        model = copy_to_shard(self.plain_model) if self.sharded else self.plain_model
        optimizer = optimizer_factory(groups(model, recipe), recipe)
        # Neither the batches nor the schedule are prepared: accelerate would step it once per process.
        spread = shard_model(accelerator, model, optimizer) if self.sharded else accelerator.prepare(model, optimizer)
        self.model, self.optimizer = spread
        self.schedule, self.progress = Schedule(recipe, self.plan.total_steps or 0), Progress()
        set_seed(recipe.seed + accelerator.process_index)
        if state is not None:
            self.progress = go_back(
                state, accelerator.process_index, self.optimizer, self.schedule, self.batches, self.plan
            )
        if accelerator.is_main_process:
            # Of a resumed run, too: it may have other minutes, or come from an older version.
            write_file(self.folder / "recipe.yaml", write_yaml(recipe.to_dict()))
        if recipe.report_to != "none":
            look = start_tracker(accelerator, recipe.report_to, recipe.to_dict(), self.folder, self.progress.step)
            reporter.note(f"tracked by {recipe.report_to}: {look}")

    def run(self) -> TrainingResult:
        """Train to the end of the plan, or until patience, time or a signal ends it; return the result."""
        progress, plan = self.progress, self.plan
        until = "" if plan.is_automatic else f" to {plan.total_steps}"
        trained = sum(p.numel() for p in self.plain_model.parameters() if p.requires_grad)
        self.reporter.note(
            f"training {trained:,} parameters on {self.accelerator.device} in "
            f"{self.accelerator.num_processes} process(es){', sharded' if self.sharded else ''}, "
            f"{'from step' if plan.is_automatic else 'steps'} "
            f"{progress.step}{until}, effective batch {self.recipe.effective_batch()}"
        )
        self.reporter.note(plan.sentence)
        with _flushed_denormals(self.accelerator.device), received_signals() as self.signals:
            self.clock = time.perf_counter() - progress.seconds
            self.model.train()
            while progress.step != plan.total_steps and not progress.stopped:
                self._step()
                self._report_and_save()
            if self.evaluation is None and (progress.step == plan.total_steps or progress.stopped == MINUTES):
                self._save_model()
            self.reporter.write_facts(progress)
            self.accelerator.wait_for_everyone()
            if self.signals:
                # One that came after the last step stopped nothing here, but the caller must know of it.
                progress.stopped = self.signals[0]
        counts = (progress.step, progress.seconds, progress.items, progress.items_per_second)
        best = (self.reporter.metric, progress.best_metric)
        improved = progress.has_improved(self.reporter.metric)
        ending = plan.ending(progress.stopped, progress.step, improved, progress.seconds)
        return TrainingResult(self.folder, *counts, *best, progress.stopped, progress.history, ending)

    def _step(self) -> None:
        """Make one optimizer step, and count it."""
        progress = self.progress
        begin, cpu_begin = time.perf_counter(), time.process_time()
        micro_batches = self.batches.next_step()
        items, others = 0, 0  # in the whole step: the items of the loss, and those of its second term
        for batch in micro_batches:
            items += batch.num_items
            others += 0 if batch.second_term is None else batch.second_term.num_items
        if self.accelerator.num_processes > 1:
            items, others = map(int, all_reduce_sum(self.accelerator, items, others))
        self.schedule.apply(self.optimizer, progress.step)
        if self.update is None:
            loss = self._learn(micro_batches, items, others)
        else:
            loss = self._learn_by(self.update, micro_batches, items)
        progress.step += 1
        progress.seconds = time.perf_counter() - self.clock
        if progress.stopped == MINUTES and progress.step == self.plan.total_steps:
            progress.stopped = ""
        progress.items += items
        progress.interval_loss += loss * items
        progress.interval_items += items
        progress.step_seconds += time.perf_counter() - begin
        progress.step_cpu_seconds += time.process_time() - cpu_begin
        self.reporter.advance(progress, loss)

    def _learn(self, micro_batches: Sequence[Batch], items: int, others: int) -> float:
        """Change the weights by the gradient of the mean loss over the items of the step; return that loss."""
        accelerator = self.accelerator
        loss = torch.zeros((), device=accelerator.device)
        for index, batch in enumerate(micro_batches):
            is_last = index == len(micro_batches) - 1
            with nullcontext() if is_last else accelerator.no_sync(self.model):
                part = self._loss(index, batch, items, others)
                # Both ways to add up gradients, whole and sharded, take the mean over processes where the sum is meant.
                accelerator.backward(part * accelerator.num_processes)
            loss += part.detach()
        norm = clip_gradients(self.model, self.recipe.clip_norm)
        sums = [loss.item(), norm.item(), "SIGINT" in self.signals, "SIGTERM" in self.signals, self._time_is_over()]
        if accelerator.num_processes > 1:
            sums = all_reduce_sum(accelerator, *sums)
        loss_value, norm_value, interrupted, terminated, is_over = sums
        # Before the step, so that the weights stay the last good ones.
        if not (math.isfinite(loss_value) and math.isfinite(norm_value)):
            raise self._divergence(loss_value, norm_value / accelerator.num_processes)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.progress.stopped = "SIGINT" if interrupted else "SIGTERM" if terminated else MINUTES if is_over else ""
        return loss_value

    def _time_is_over(self) -> bool:
        """Return whether the plan's time is used up; the main process alone decides, in the step's one reduction."""
        limit = self.plan.seconds
        return self.accelerator.is_main_process and limit is not None and time.perf_counter() - self.clock >= limit

    def _loss(self, index: int, batch: Batch, items: int, others: int) -> torch.Tensor:
        """Return one micro-batch's part of the loss of a step of so many items."""
        with torch.autocast(self.accelerator.device.type, torch.bfloat16, self.recipe.mixed_precision == "bf16"):
            outputs = self.model(**batch.inputs, **self.forward_options)
            mean = batch.loss_of(outputs)
        self.batches.on_step_outputs(index, outputs)
        if mean is None:
            raise ValueError(f"{type(self.plain_model).__name__} gives no loss for {', '.join(batch.inputs)}")
        if batch.num_items == 0:
            # It is not left out: the other processes wait for this one's gradient.
            return zero_loss(mean, outputs)
        loss = mean * (batch.num_items / items)
        if batch.second_term is not None:
            second = batch.second_term
            loss = loss + second.of(outputs) * (second.num_items / others - batch.num_items / items)
        return loss

    def _divergence(self, loss: float, norm: float) -> FloatingPointError:
        return FloatingPointError(
            f"step {self.progress.step + 1}: the loss is {loss} and the norm of its gradient {norm}; stopped "
            f"before the weights were changed, earlier checkpoints are in {self.folder / 'checkpoints'}. "
            "Lower learning_rate or clip_norm, or add warmup_steps"
        )

    def _learn_by(self, update: Update, micro_batches: Sequence[Batch], items: int) -> float:
        """Change the weights in the model's own way; return the mean loss over the items of the step."""
        optimizer = self.optimizer.optimizer  # accelerate's wrapper has none of its methods but `step`
        with torch.autocast(self.accelerator.device.type, torch.bfloat16, self.recipe.mixed_precision == "bf16"):
            losses = [float(update(optimizer, batch)) * batch.num_items for batch in micro_batches]
        loss = sum(losses) / max(items, 1)
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"step {self.progress.step + 1}: the loss is {loss}; these weights are not kept, earlier checkpoints "
                f"are in {self.folder / 'checkpoints'}. Lower learning_rate"
            )
        self.progress.stopped = self.signals[0] if self.signals else MINUTES if self._time_is_over() else ""
        return loss

    def _report_and_save(self) -> None:
        """After the steps that the recipe names, record the loss, measure and save."""
        progress, recipe = self.progress, self.recipe
        last, over = progress.step == self.plan.total_steps, progress.stopped == MINUTES
        period = self.plan.evaluate_every
        planned = last or (period > 0 and progress.step % period == 0)
        due = planned or over
        save = last or over or (progress.step % recipe.save_every == 0 if recipe.save_every else due)
        noted = last or progress.step % self.plan.history_every == 0
        if noted or over:
            rate = float(self.optimizer.param_groups[0]["lr"])
            mean = progress.interval_loss / max(1, progress.interval_items)
            self.reporter.record(progress, {"loss": mean, "learning_rate": rate})
        if noted:
            progress.interval_loss, progress.interval_items = 0.0, 0
        if self.sharded and (due or save or progress.stopped):
            gather_weights(self.accelerator, self.model, self.plain_model)
        if due and self.evaluation is not None:
            self._evaluate(self.evaluation, planned)
        if save or progress.stopped:
            self._save_checkpoint()

    def _evaluate(self, evaluation: Evaluation, planned: bool) -> None:
        """Measure, keep the best model, and lower the plateau or run out of patience if this is not it.

        Args:
            planned: False at the end of the time: a run that goes on from there has had no evaluation too many.
        """
        progress, measures = self.progress, self._measures(evaluation)
        value = measures.get(evaluation.metric)
        if not isinstance(value, int | float):
            raise ValueError(f"the evaluation returned no number {evaluation.metric!r}, only {', '.join(measures)}")
        if not math.isfinite(value):
            raise FloatingPointError(
                f"step {progress.step}: validation {evaluation.metric} is {value}; these weights are not kept. "
                "Lower learning_rate, or look for what the model cannot predict in the validation data"
            )
        row = self.reporter.record(progress, measures, prefix="validation_")
        better = evaluation.improves(value, progress.best_metric)
        self.schedule.reductions += planned and not better
        beside = "; ".join(filter(None, ("best" if better else "", evaluation.baseline_value)))
        self.reporter.note(
            f"step {progress.step}, epoch {row['epoch']:.2f}: validation {evaluation.metric} {value:.4g}"
            f"{f' ({beside})' if beside else ''}, {progress.items_per_second:,.0f} {self.reporter.items_name}/s"
        )
        if better:
            progress.best_metric, progress.evaluations_without_gain = value, 0
        elif planned:
            progress.evaluations_without_gain += 1
            if 0 < self.plan.patience <= progress.evaluations_without_gain:
                progress.stopped = progress.stopped or EARLY_STOPPING
        self.reporter.advance(progress)
        # Written before the model: a model without these facts is not the result of a run.
        self.reporter.write_facts(progress)
        if better:
            self._save_model()

    def _measures(self, evaluation: Evaluation) -> dict[str, Any]:
        """Measure in the main process, in float32 at any training precision; return the measures in all processes."""
        measured: list[Any] = [None]
        if self.accelerator.is_main_process:
            self.plain_model.to(self.accelerator.device).eval()
            with torch.no_grad():
                measured = [evaluation.measure(self.plain_model)]
            if self.sharded:
                self.plain_model.cpu()  # frees its memory on the device for training
            self.model.train()
        return broadcast_object_list(measured)[0]

    def _save_model(self) -> None:
        saved.refuse_non_finite(self.plain_model)
        if self.accelerator.is_main_process:
            with staged_folder(self.folder) as stage, silent_saving() if is_progress_bar_enabled() else nullcontext():
                for part in (self.plain_model, *self.save_with):
                    part.save_pretrained(stage)

    def _save_checkpoint(self) -> None:
        progress = self.progress
        progress.seconds = time.perf_counter() - self.clock
        progress.checkpoint = progress.step
        own = {"batches": self.batches.state_dict(), "random": saved.random_state()}
        optimizer = self.optimizer.state_dict()
        if self.sharded:
            optimizer = gather_optimizer_state(self.accelerator, optimizer)
        state = {
            "processes": gather_object([own]),
            "recipe": self.recipe.to_dict(),
            "fingerprints": dict(self.fingerprints),
            "optimizer": optimizer,
            "reductions": self.schedule.reductions,
            "progress": asdict(progress),
        }
        if self.accelerator.is_main_process:
            folder = self.folder / "checkpoints"
            saved.write_checkpoint(folder, progress.step, self.plain_model, state, self.recipe.keep_checkpoints)
        self.reporter.write_facts(progress)
        self.accelerator.wait_for_everyone()


def zero_loss(mean: torch.Tensor, outputs: Any) -> torch.Tensor:
    """Return a loss of 0 with a gradient of 0 everywhere, for a batch without items.

    The mean over no items may be NaN, and 0 times the gradient of NaN is NaN too. In that case the zero is computed
    from the other tensors that the model returned.

    >>> from transformers.modeling_outputs import CausalLMOutput
    >>> logits = torch.ones(2, requires_grad=True)
    >>> mean = logits[:0].mean()
    >>> zero_loss(mean, CausalLMOutput(loss=mean, logits=logits))
    tensor(0., grad_fn=<SumBackward0>)
    """
    if mean.isfinite():
        return mean * 0
    tensors = [value for value in vars(outputs).values() if isinstance(value, torch.Tensor) and value.requires_grad]
    others = [tensor for tensor in tensors if tensor is not mean]
    return torch.stack([(tensor.nan_to_num() * 0).sum() for tensor in others or tensors]).sum()


@contextmanager
def _flushed_denormals(device: torch.device) -> Iterator[None]:
    # Peaked logits make subnormal gradients, which slow the head of a language model tenfold on a CPU.
    before = bool(torch.tensor([1e-40]) == 0)  # torch has no function that returns the setting
    torch.set_flush_denormal(before or device.type == "cpu")
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
