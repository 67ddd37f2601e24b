# SPDX-License-Identifier: Apache-2.0
"""Grafana dashboards as code: ``python -m dashboards`` writes them to dashboards/grafana/json.

Types and builders are those of Grafana 10.1; newer ones take its JSON and bring it up to date
themselves. `docs/grafana.md` says which versions it was looked at in. Panels and the data source
(Prometheus) are of Grafana's core.
"""
