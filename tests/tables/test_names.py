"""Names of columns: results, states, times and identities as tools and people write them, and settings."""

import numpy as np
import pytest

from parzax.lens._words import split_words
from parzax.lens.tables.doubts import why_by_name

VALUES = np.random.default_rng(0).random(60)
WHOLE = np.floor(60 * VALUES)
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
    lr learning_rate final_lr last_layer_lr val_fraction validation_fraction validation_split
    val_check_interval val_ratio test_fraction eval_interval eval_temperature eval_top_k
    test_time_augmentation percent_train warmup_ratio loss_weight loss_alpha class_weight step_size
    score_function score_threshold error_tolerance reward_scale recall_weight dropout_rate drop_path
    mutation_rate max_grad_norm clip_grad_norm grad_norm_clip gradient_clip_val top_p fp16 beta_1
    adam_beta2 l2 l1_ratio time_constant init_std noise_std memory success_threshold precision_weight
    weights threshold momentum temperature entropy_coef target_kl clip_range positive_weight pct_start
    status_weight
"""
COUNTS = """
    train_batch_size per_device_train_batch_size eval_batch_size val_batch_size dev_batch_size
    validation_steps validation_freq test_size test_every eval_steps eval_every eval_episodes train_size
    warmup_steps num_epochs epochs epoch_size max_iter n_iter_no_change num_iterations rounds
    n_estimators n_trees min_samples_leaf max_depth num_layers gradient_accumulation_steps random_state
    initial_state hidden_state_size state_dim top_k best_of hidden_1 units_1 n_units_l0 steps_per_epoch
    updates_per_step samples_per_gpu total_steps time_steps seq_len memory_size early_stopping
    early_stopping_rounds patience model_name model_size index_type hash_size n_trials run_length hours
    width lora_rank unfreeze_at replay_memory num_params_shared_layers return_sequences precision
"""


@pytest.mark.parametrize(
    ("names", "values", "why"),
    [
        (RESULTS, VALUES, "a result"),
        (TIMES, VALUES, "a time"),
        (STATES, VALUES, "a state"),
        (IDENTITIES, VALUES, "an identity"),
        (SETTINGS, VALUES, ""),
        (SETTINGS + COUNTS, WHOLE, ""),
        ("epoch global_epoch training_iteration step", WHOLE, "a counter of steps"),
        ("loss eval_metric objective score splitter", None, ""),
        ("precision", VALUES, "a result"),
    ],
)
def test_what_names_say(names: str, values: np.ndarray | None, why: str) -> None:
    """Catches a usual metric that is ranked, and a usual setting that is left out."""
    assert {name: why_by_name(name, values) for name in names.split()} == dict.fromkeys(names.split(), why)


def test_words() -> None:
    assert split_words("#") == [""]
    assert split_words("Größe") == ["größe"]
