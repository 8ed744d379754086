"""Tables in the shapes of files in public repositories; their values are made up."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import parzax as px

N = 60
RNG = np.random.default_rng(0)


def draw(*choices: object) -> np.ndarray:
    """One of the choices for each row."""
    return RNG.choice(np.array(choices), size=N)


def wandb_export() -> pd.DataFrame:
    """The CSV of a W&B project: settings that stay, names of runs, sizes that follow from the settings."""
    act, weight = draw(2, 4, 6, 8), draw(4, 6, 8)
    accuracy = 100 - 30 / act**2 * np.exp(0.2 * RNG.normal(size=N)) - 10 / weight
    name = [f"weight_{w}_act_{a}" for w, a in zip(weight, act, strict=True)]
    return pd.DataFrame({
        "Name": name, "State": ["finished", "crashed"] * (N // 2), "Notes": "-", "User": "", "Tags": "",
        "Created": "2025-12-13T23:28:41.000Z", "Runtime": RNG.integers(40, 60, size=N), "Sweep": "",
        "act_bits": act, "batch_size": 128, "checkpoint": "./best.pth", "device": "cuda", "num_workers": 4,
        "wandb_run_name": name, "weight_bits": weight, "activation_mem_fp32_mb": 1560.5,
        "activation_mem_q_mb": 48.77 * act, "compression_ratio_activations": 32 / act,
        "quant_model_mb": 0.26 * weight, "quant_test_acc": accuracy,
        "quant_test_loss": 5 - accuracy / 20 + 0.05 * RNG.normal(size=N),
    })  # fmt: skip


def test_exports_of_weights_and_biases(tmp_path: Path) -> None:
    """Names of runs, and sizes that follow from a setting, are asked for; the guess leaves them out."""
    df, path = wandb_export(), tmp_path / "export.csv"
    df.to_csv(path, index=False)
    options = {"target": "quant_test_acc", "directions": "maximize", "warn": False}
    with pytest.raises(ValueError, match="'wandb_run_name': an identity, by its name") as error:
        px.Observations.from_dataframe(path, **options)
    for name in ("activation_mem_q_mb", "compression_ratio_activations"):
        assert f"'{name}': it follows from 'act_bits'" in str(error.value)
    obs = px.Observations.from_dataframe(path, **options, **error.value.guess)
    settings = {"batch_size", "checkpoint", "device", "num_workers", "activation_mem_fp32_mb"}
    assert set(obs.space.names) - settings == {"act_bits", "weight_bits"}
    assert obs.n == N / 2
    assert px.cond_ped_anova(obs, 0.3, n_resamples=0).ranking()[0] == "act_bits"


def test_costs_of_smac_are_means_over_instances(tmp_path: Path) -> None:
    """Runs of a configuration on several instances, a failed one, and a larger budget that counts."""
    configs = {str(i): {"pca": bool(i % 2), "xgb:eta": float(RNG.uniform())} for i in range(1, 31)}
    runs = [
        (i, instance, 0.0, 100 * i + instance, "SUCCESS")
        for i in range(1, 31)
        for instance in range(i % 4 + 1)
    ]
    runs += [(1, 9, 0.0, 1e9, "CRASHED"), (2, 0, 5.0, -7.0, "SUCCESS")]
    data = [
        [[i, str(instance), 0, budget], [cost, 12.1, {"__enum__": f"StatusType.{state}"}, 1.5, 2.5, {}]]
        for i, instance, budget, cost, state in runs
    ]
    (tmp_path / "runhistory.json").write_text(
        json.dumps({"data": data, "config_origins": {}, "configs": configs})
    )
    obs = px.Observations.from_dataframe(
        tmp_path / "runhistory.json", "cost", directions="minimize", warn=False
    )
    expected = {100 * i + (i % 4) / 2 for i in range(1, 31)} - {201.0} | {-7.0}
    assert set(obs.losses[:, 0]) == expected
    assert obs.space.names == ("pca", "xgb:eta")
