# SPDX-License-Identifier: Apache-2.0
"""Grafana dashboards as code: ``python -m dashboards`` writes them to dashboards/grafana/json.

Types and builders are those of Grafana 10.1, the oldest that is meant; newer ones take its JSON and
bring it up to date themselves. Panels and the data source (Prometheus) are of Grafana's core.
"""
