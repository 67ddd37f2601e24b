/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOPLAB_ELFN_NOTICE_H
#define HOPLAB_ELFN_NOTICE_H

#include "standby.h"

struct sock *elfn_socket(struct elfn_net *en, const struct elfn_notice *notice);
bool elfn_in_flight(const struct sock *sk, u32 sequence);
void elfn_notice(struct elfn_net *en, const struct elfn_notice *notice);
void elfn_unreachable(struct elfn_net *en, __be32 destination);
bool elfn_defer(struct elfn_net *en, const struct elfn_notice *notice);
void elfn_deferred(struct work_struct *work);
void elfn_forget_deferred(struct elfn_net *en);

#endif
