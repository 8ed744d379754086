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


def ray_dataframe() -> pd.DataFrame:
    """A data frame of an older Ray Tune: a metric first, `done` for the state, `logdir` last."""
    features, seconds = RNG.uniform(0.5, 1, size=N), RNG.uniform(30, 90, size=N)
    return pd.DataFrame({
        "test_accuracy": 0.84 - (features - 0.7) ** 2, "train_time": seconds, "is_bad": False, "done": True,
        "timesteps_total": "", "training_iteration": draw(1, 3), "date": "2020-09-10_21-18-09",
        "time_total_s": 3 * seconds, "pid": RNG.integers(20000, 23000, size=N), "hostname": "host",
        "trial_id": [f"{i:08x}" for i in range(N)], "experiment_tag": [f"{i}_x" for i in range(N)],
        "config/max_depth": RNG.uniform(10, 20, size=N), "config/max_features": features,
        "logdir": [f"results/{i}" for i in range(N)],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("table", "target", "names", "first"),
    [
        (wandb_export, "quant_test_acc", {"act_bits", "weight_bits"}, "act_bits"),
        (ray_dataframe, "test_accuracy", {"max_depth", "max_features"}, "max_features"),
    ],
)
def test_parameters(table: object, target: str, names: set[str], first: str, tmp_path: Path) -> None:
    df = table()  # type: ignore[operator]
    path = tmp_path / "export.csv"
    df.to_csv(path, index=False)
    options = {"target": target, "directions": "maximize", "warn": False}
    if table is not ray_dataframe:
        with pytest.raises(ValueError, match="The table does not say what its columns are") as error:
            px.Observations.from_dataframe(path, **options)
        options |= error.value.guess
    obs = px.Observations.from_dataframe(path, **options)
    settings = {"batch_size", "checkpoint", "device", "num_workers", "activation_mem_fp32_mb"}
    assert set(obs.space.names) - settings == names
    assert obs.n == (df.get("State", "finished") == np.array(["finished"] * N)).sum()
    assert px.cond_ped_anova(obs, 0.3).ranking()[0] == first


def test_sizes_that_follow_from_a_setting_are_named() -> None:
    with pytest.raises(ValueError, match="'wandb_run_name': an identity, by its name") as error:
        px.Observations.from_dataframe(wandb_export(), "quant_test_acc", directions="maximize", warn=False)
    for name in ("activation_mem_q_mb", "compression_ratio_activations"):
        assert f"'{name}': it follows from 'act_bits'" in str(error.value)


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
