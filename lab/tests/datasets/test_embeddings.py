import gzip
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpmondrian_lab.datasets import embeddings
from dpmondrian_lab.datasets.checksums import content_checksum
from dpmondrian_lab.datasets.tables import read_embeddings
from dpmondrian_lab.exceptions import DatasetError

RECIPE = embeddings.Recipe("mnist", epochs=3, batch=50)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed; it comes with the extra 'embeddings'")


@pytest.fixture
def images():
    """Return 300 images of three classes: a bright square in one of three corners, and noise."""
    generator = np.random.default_rng(0)
    images, classes = generator.integers(0, 60, size=(300, 28, 28), dtype=np.uint8), np.arange(300) % 3
    for image, number in zip(images, classes, strict=True):
        image[20 * (number // 2) :, 20 * (number % 2) :][:8, :8] = 250
    return images, classes


def test_figures_are_those_of_kmeans():
    generator = np.random.default_rng(0)
    classes = np.arange(600) % 10
    rows = generator.normal(scale=0.1, size=(600, 40)) + 5.0 * np.eye(10, 40)[classes]
    figures = embeddings.figures(rows, classes)
    assert set(figures) == {"accuracy", "silhouette", "inertia", "largest"}
    assert figures["accuracy"] == 1.0
    assert figures["silhouette"] > 0.8
    assert figures["inertia"] == pytest.approx(600 * 40 * 0.01, rel=0.05)
    assert figures["largest"] == rows.max()


def test_training_needs_the_images(cache):
    with pytest.raises(DatasetError, match=r"mnist/train-images-idx3-ubyte\.gz was not found"):
        embeddings.train("mnist_embs")


def test_embeddings_tell_the_classes_apart_and_repeat(torch, images):
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    steps = []
    activations = embeddings.embed(*images, RECIPE, lambda *step: steps.append(step))
    assert activations.shape == (300, 40)
    assert activations.min() >= 0
    assert activations.max() <= 13
    assert steps == [("training on mnist", step, 18) for step in range(1, 19)]
    np.testing.assert_array_equal(activations, embeddings.embed(*images, RECIPE))
    means = np.array([activations[images[1] == number].mean(axis=0) for number in range(3)])
    nearest = np.linalg.norm(activations[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == images[1]).mean() > 0.9
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_the_trained_file_has_its_recipe_beside_it(torch, images, cache, monkeypatch):
    monkeypatch.setitem(embeddings.RECIPES, "mnist_embs", RECIPE)
    (cache / "mnist").mkdir(parents=True)
    for name, array in zip(("images-idx3", "labels-idx1"), images, strict=True):
        header = b"\0\0\x08" + bytes([array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
        raw = gzip.compress(header + array.astype(np.uint8).tobytes())
        (cache / "mnist" / f"train-{name}-ubyte.gz").write_bytes(raw)
    path = embeddings.train("mnist_embs")
    rows, classes = read_embeddings(path)
    recipe = json.loads(path.with_suffix(".json").read_text())
    assert path == cache / "mnist_embs.parquet"
    assert pq.read_schema(path).names == [*(f"e{number}" for number in range(40)), "label"]
    assert recipe["checksum"] == content_checksum(rows, classes)
    assert recipe["recipe"]["epochs"] == 3
    assert set(recipe["kmeans"]) == {"accuracy", "silhouette", "inertia", "largest"}
    assert sorted(file.name for file in cache.iterdir()) == ["mnist", "mnist_embs.json", "mnist_embs.parquet"]
