"""Which pair of prompts tells anomalies best, chosen with the help of selected candidates."""

from eap_core.prompts.choice import (
    Choice,
    Selection,
    best_line,
    compare_selections,
    may_be_guessing,
    mistakes,
)
from eap_core.prompts.templates import SHIPPED, Template, checked, object_name, read_templates
from eap_core.prompts.views import Ranked, Views, rank_pairs, views_of, zero_shot

__all__ = [
    "SHIPPED",
    "Choice",
    "Ranked",
    "Selection",
    "Template",
    "Views",
    "best_line",
    "checked",
    "compare_selections",
    "may_be_guessing",
    "mistakes",
    "object_name",
    "rank_pairs",
    "read_templates",
    "views_of",
    "zero_shot",
]
