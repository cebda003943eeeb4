"""Train the small network whose activations stand in for the paper's embeddings. Needs torch.

Three times [convolution 3 x 3, ReLU, largest of 2 x 2], then a linear layer to 40, ReLU, doubled and clamped to
[0, 13]: these are the embeddings. A linear layer to the 10 classes follows for the training. The same machine and version of
torch give the same file; another one gives similar, not equal, values. So a trained file is accepted by the checksum in
its recipe, a JSON file beside it, which also says how well KMeans does on it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.whole_files import write_file
from dpmondrian.quality import nearest, purity, silhouette
from dpmondrian_lab.datasets.checksums import content_checksum
from dpmondrian_lab.datasets.files import Progress, cache_folder, staging
from dpmondrian_lab.datasets.idx import read_idx
from dpmondrian_lab.datasets.tables import write_table
from dpmondrian_lab.exceptions import DatasetError

__all__ = ["RECIPES", "Recipe", "embed", "figures", "require_torch", "train"]

_LARGEST = 13.0
_PREDICTED_AT_ONCE = 1000


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; `images` is the folder of the images."""

    images: str
    epochs: int
    batch: int = 256
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    shrinkage: float = 5e-4
    seed: int = 0


RECIPES = {"mnist_embs": Recipe("mnist", epochs=12), "fashion_embs": Recipe("fashion_mnist", epochs=9)}


def require_torch() -> Any:
    """Return the module torch, or raise `DatasetError` with the way out."""
    try:
        import torch
    except ImportError:
        raise DatasetError(
            "Training the embeddings needs torch. Install dpmondrian with the extra 'embeddings'."
        ) from None
    return torch


def train(key: str, progress: Progress | None = None) -> Path:
    """Train the network of a data set on its images, and return the path of the embeddings in the cache folder.

    Parameters
    ----------
    key : "mnist_embs" or "fashion_embs"
    progress : callable, optional
        Told the number of batches.
    """
    recipe = RECIPES[key]
    images = read_idx(f"{recipe.images}/train-images-idx3-ubyte.gz")
    classes = read_idx(f"{recipe.images}/train-labels-idx1-ubyte.gz").astype(np.int64)
    activations = embed(images, classes, recipe, progress)
    return _save(key, activations, classes, recipe)


def embed(
    images: NDArray[np.uint8], classes: NDArray[np.int64], recipe: Recipe, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return the 40 activations in [0, 13] of every image, from a network trained on these images, one thread."""
    torch = require_torch()
    with _repeatable(torch, recipe.seed):
        inputs = torch.from_numpy(images.astype(np.float32) / 255.0).unsqueeze(1)
        features, head = _network(torch)
        _fit(torch, features, head, inputs, torch.from_numpy(classes), recipe, progress)
        with torch.inference_mode():
            parts = [_activations(features, part) for part in inputs.split(_PREDICTED_AT_ONCE)]
        return np.asarray(torch.cat(parts).numpy(), dtype=np.float32)


def figures(rows: NDArray[np.float64], classes: NDArray[np.int64]) -> dict[str, float]:
    """Return accuracy, silhouette and inertia of KMeans (k = 10, best of 10 runs) on embeddings, and the largest value."""
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters=10, n_init=10, random_state=0).fit(rows)
    label, distance = nearest(rows, model.cluster_centers_)
    return {
        "accuracy": purity(classes, label),
        "silhouette": silhouette(rows, label),
        "inertia": float((distance**2).sum()),
        "largest": float(rows.max()),
    }


def _network(torch: Any) -> tuple[Any, Any]:
    """Return the layers up to the activations, and the last one."""
    nn = torch.nn
    layers: list[Any] = []
    for before, after in ((1, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    # 28 pixels are halved three times and rounded down: 14, 7, 3.
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 3 * 3, 40), nn.ReLU()), nn.Linear(40, 10)


def _activations(features: Any, inputs: Any) -> Any:
    return (2.0 * features(inputs)).clamp(0.0, _LARGEST)


def _fit(
    torch: Any, features: Any, head: Any, inputs: Any, classes: Any, recipe: Recipe, progress: Progress | None
) -> None:
    """Minimise the cross-entropy, plus a little of the squared length of half the activations, which draws them in."""
    parameters = [*features.parameters(), *head.parameters()]
    steps = recipe.epochs * -(-len(inputs) // recipe.batch)
    optimiser = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=recipe.learning_rate, total_steps=steps)
    done = 0
    for _ in range(recipe.epochs):
        for chosen in torch.randperm(len(inputs)).split(recipe.batch):
            activations = _activations(features, inputs[chosen])
            loss = torch.nn.functional.cross_entropy(head(activations), classes[chosen])
            loss = loss + recipe.shrinkage * (activations / 2).square().sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            done += 1
            if progress is not None:
                progress(f"training on {recipe.images}", done, steps)


@contextmanager
def _repeatable(torch: Any, seed: int) -> Iterator[None]:
    """Make torch compute the same each time; afterwards its settings are as before."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(deterministic)
            torch.set_num_threads(threads)


def _save(key: str, activations: NDArray[np.float32], classes: NDArray[np.int64], recipe: Recipe) -> Path:
    """Write embeddings and recipe into the cache folder."""
    rows = activations.astype(np.float64)
    note = {
        "checksum": content_checksum(rows, classes),
        "torch": require_torch().__version__,
        "recipe": asdict(recipe),
        "kmeans": figures(rows, classes),
    }
    columns = {f"e{number}": activations[:, number] for number in range(activations.shape[1])}
    path = cache_folder() / f"{key}.parquet"
    with staging() as unfinished:
        write_table({**columns, "label": classes.astype(np.int8)}, unfinished / "table")
        # The recipe first: a table without its checksum would be refused.
        write_file(path.with_suffix(".json"), json.dumps(note, indent=2) + "\n", overwrite=True)
        os.replace(unfinished / "table", path)
    return path
