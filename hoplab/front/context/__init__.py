# SPDX-License-Identifier: Apache-2.0
"""The lab as a server of the Model Context Protocol, for agents that are language models."""
