# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How arms are measured: functions of settings, a seed, a folder for files and the part of the data.

Each returns a value for each item, as `Values` with their weights and clusters or as a list where all items are
clusters of their own, and more is what the claim expects of the first arm. The arms of a case have the same items in
the same order.
"""

from hf_lecture_models.lab.claims.methods.costs import growth_with_length, output_layer_share
from hf_lecture_models.lab.claims.methods.counts import ngram_log_prob, possible_texts, tokens_per_word, unseen_ngrams
from hf_lecture_models.lab.claims.methods.filling import filled_texts
from hf_lecture_models.lab.claims.methods.fine_tuning import tokens_read
from hf_lecture_models.lab.claims.methods.gradients import remaining_gradient
from hf_lecture_models.lab.claims.methods.image_transfer import right_after_pretraining
from hf_lecture_models.lab.claims.methods.lengths import right_by_length
from hf_lecture_models.lab.claims.methods.misspellings import right_when_misspelt
from hf_lecture_models.lab.claims.methods.neighbours import context_cosine_of_neighbours
from hf_lecture_models.lab.claims.methods.prompts import points_by_prompts
from hf_lecture_models.lab.claims.methods.pronouns import pronoun_attention
from hf_lecture_models.lab.claims.methods.stability import loss_at_other_settings
from hf_lecture_models.lab.claims.methods.states import changed_by_other_words, changed_by_zeros
from hf_lecture_models.lab.claims.methods.training import train_and_measure
from hf_lecture_models.lab.claims.methods.translations import sentence_chrf
from hf_lecture_models.lab.claims.methods.word_order import changed_by_moving, changed_by_shuffling
from hf_lecture_models.lab.claims.trial import Method

METHODS: dict[str, Method] = {
    method.__name__: method
    for method in (
        changed_by_moving,
        changed_by_other_words,
        changed_by_shuffling,
        changed_by_zeros,
        context_cosine_of_neighbours,
        filled_texts,
        growth_with_length,
        loss_at_other_settings,
        ngram_log_prob,
        output_layer_share,
        points_by_prompts,
        possible_texts,
        pronoun_attention,
        remaining_gradient,
        right_after_pretraining,
        right_by_length,
        right_when_misspelt,
        sentence_chrf,
        tokens_per_word,
        tokens_read,
        train_and_measure,
        unseen_ngrams,
    )
}
