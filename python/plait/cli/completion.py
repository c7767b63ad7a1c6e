"""`plait completion`: shell code that completes commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script with which SHELL completes commands, options and choices of plait.

    \b
    bash: echo 'eval "$(plait completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(plait completion zsh)"' >> ~/.zshrc
    fish: plait completion fish > ~/.config/fish/completions/plait.fish
    """  # noqa: D301  click wants the character, not its escape
    click.echo(script(shell))


def script(shell: str) -> str:
    """Return the shell code that asks plait for completions."""
    from plait.cli import COMPLETING, cli

    kind = get_completion_class(shell)
    if kind is None:
        message = f"click completes nothing in {shell}"
        raise click.UsageError(message)
    completer = kind(cli, {}, "plait", COMPLETING)
    # BashComplete.source starts bash to find its version, but another shell may read this output.
    return ShellComplete.source(completer) if isinstance(completer, BashComplete) else completer.source()
