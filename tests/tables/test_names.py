"""Names of columns: results, states, times and identities as tools and people write them, and settings."""

import numpy as np
import pytest

from parzax.lens.tables import recognise
from parzax.lens.tables.names import sounds_like_result, split_words, why_by_name

VALUES = np.random.default_rng(0).random(60)
RESULTS = """
    val_logloss wer psnr ndcg@10 top1 top-5 acc@1 accuracy_top_5 recall_at_10 hits@3 f1_macro F1_macro
    micro_f1 weighted_f1 f1-score F1Score roc_auc_ovr roc_auc pr_auc auc_pr testAUC mAP mAP50 map50-95 mcc
    kappa cohen_kappa cross_entropy log_loss logLoss log_likelihood explained_variance exact_match r2_score
    R^2 spearmanr pearson_r success_rate win_rate false_positive_rate error_rate precision_macro precision@5
    meanIoU valIoU val/mIoU mean_iou dice_score rouge1 rouge_2 rougeL bleu-4 test/wer eval/foo val.bar
    val_ppl valid_0's-l2 validation_0-logloss loss_1
    accuracy1 acc_std val_loss_epoch ep_rew_mean episode_reward_mean
    best_epoch BestIteration best_val_acc stopped_epoch epochs_run steps_taken throughput num_params n_params
    params_total params_M param_count params.count trainable_params grad_norm total_flos GFLOPs model_memory
    trainer/global_step eval_samples_per_second train_samples_per_second
"""
TIMES = """
    Duration_(min) time_per_epoch seconds_per_step ms_per_iter time_taken train_time_(s) wall_clock gpu_hours
    cpu_seconds created_at Created started_at finished_at start_time time_total_s time_this_iter_s _timestamp
    secs seconds minutes converged_at
"""
STATES = """
    state Status job_state eval_status trial_status run.status result/status outcome success converged pruned
    is_best early_stopped exit_code st_status done
"""
IDENTITIES = "Trial trial_number run_id Run_# row index run_name experiment_name job_id git_hash Nr"
# Parameters of scikit-learn, gradient boosting, Hugging Face, Lightning, Stable-Baselines and their like.
SETTINGS = """
    lr learning_rate final_lr last_layer_lr train_batch_size per_device_train_batch_size eval_batch_size
    val_batch_size dev_batch_size val_fraction validation_fraction validation_split validation_steps
    validation_freq val_check_interval val_ratio test_size test_fraction test_every eval_steps eval_every
    eval_interval eval_episodes eval_temperature eval_top_k test_time_augmentation train_size percent_train
    warmup_steps warmup_ratio num_epochs epochs epoch_size max_iter n_iter_no_change num_iterations rounds
    n_estimators n_trees min_samples_leaf max_depth loss_weight loss_alpha class_weight step_size num_layers
    score_function score_threshold error_tolerance reward_scale recall_weight gradient_accumulation_steps
    random_state initial_state hidden_state_size state_dim dropout_rate drop_path mutation_rate max_grad_norm
    clip_grad_norm grad_norm_clip gradient_clip_val top_k top_p best_of fp16 beta_1 adam_beta2 l2 l1_ratio
    hidden_1 units_1 n_units_l0 steps_per_epoch updates_per_step samples_per_gpu total_steps time_steps
    time_constant seq_len init_std noise_std memory memory_size early_stopping early_stopping_rounds patience
    success_threshold model_name model_size index_type hash_size n_trials run_length precision_weight weights
    hours step threshold width momentum temperature entropy_coef target_kl clip_range lora_rank unfreeze_at
    positive_weight pct_start replay_memory status_weight num_params_shared_layers return_sequences
"""


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (RESULTS, "a result"),
        (TIMES, "a time"),
        (STATES, "a state"),
        (IDENTITIES, "an identity"),
        (SETTINGS, ""),
    ],
)
def test_what_names_say(names: str, why: str) -> None:
    """Catches a usual metric that is ranked, and a usual setting that is left out."""
    assert {name: why_by_name(name, VALUES) for name in names.split()} == dict.fromkeys(names.split(), why)


def test_labels_and_few_values_are_no_results() -> None:
    for name in ("loss", "eval_metric", "objective", "score", "splitter"):
        assert why_by_name(name, None) == ""
    grid = np.repeat([1.0, 2.0, 4.0], 20)
    assert why_by_name("val_beam", grid) == ""
    assert why_by_name("val_beam", VALUES) != ""
    assert why_by_name("precision", grid * 8) == ""
    assert why_by_name("epoch", grid) == "a counter of steps"
    assert why_by_name("precision", VALUES) == why_by_name("epoch", VALUES) == "a result"


def test_words() -> None:
    assert split_words("BestIteration") == ["best", "iteration"]
    assert split_words("val/mIoU (%)") == ["val", "miou"]
    assert split_words("#") == [""]
    assert split_words("Größe") == ["größe"]
    assert sounds_like_result("val/xyz")
    assert not sounds_like_result("num_params")


@pytest.mark.parametrize(
    "columns",
    [
        ["lr", "dropout", "params_total", "loss"],
        ["lr", "dropout", "params_total", "params_trainable", "value"],
        ["lr", "dropout", "params_file", "loss"],
        ["lr", "dropout", "params.count", "loss"],
        ["lr", "dropout", "params/total", "loss"],
        ["lr", "dropout", "param_count", "mean_test_acc"],
    ],
)
def test_sizes_of_models_are_no_mark(columns: list[str]) -> None:
    """Catches one column such as params_total that hides all parameters."""
    assert recognise(columns).name == "a plain table"
    assert recognise(["params_lr", "params_total", "value"]).name == "Optuna"
