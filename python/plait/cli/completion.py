"""`plait completion`: what makes a shell complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete the commands, options and choices of plait.

    \b
    bash: echo 'eval "$(plait completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(plait completion zsh)"' >> ~/.zshrc
    fish: plait completion fish > ~/.config/fish/completions/plait.fish
    """  # noqa: D301  click wants the character, not its escape
    click.echo(script(shell))


def script(shell: str) -> str:
    """The shell's own code, which asks plait what a word may become."""
    from plait.cli import COMPLETING, cli

    kind = get_completion_class(shell)
    if kind is None:
        message = f"click completes nothing in {shell}"
        raise click.UsageError(message)
    completer = kind(cli, {}, "plait", COMPLETING)
    # BashComplete.source starts a bash to see how old it is, which says nothing of the shell that is to read this.
    return ShellComplete.source(completer) if isinstance(completer, BashComplete) else completer.source()
