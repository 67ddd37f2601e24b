/* SPDX-License-Identifier: GPL-2.0-only */
/* Vector registers that stay in a process of the host; arch/um/os-Linux/skas/process.c includes this file. */

void fetch_fp_registers(int pid, struct uml_pt_regs *regs)
{
	int err;

	if (!regs->fp_in_child)
		return;
	regs->fp_in_child = 0;
	err = get_fp_registers(pid, regs->fp);
	if (err < 0) {
		printk(UM_KERN_ERR "save_fp_registers returned %d\n", err);
		fatal_sigsegv();
	}
}
