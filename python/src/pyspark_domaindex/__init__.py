# SPDX-License-Identifier: Apache-2.0
"""Spark looks for data sources in packages of this name: format("domaindex") needs no registration."""
from domaindex.spark import DomaindexSource as DefaultSource

__all__ = ["DefaultSource"]
