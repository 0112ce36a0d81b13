"""How the Step by step page looks."""

from __future__ import annotations

STYLE = """
<style>
.st-key-lesson_keys { position: absolute; }
.lesson-caption { position: relative; min-height: 6.6rem; font-size: 1.06rem; line-height: 1.5; }
.lesson-caption .name { font-weight: 650; overflow-wrap: anywhere; }
.lesson-caption .number { font-weight: 650; font-variant-numeric: tabular-nums; }
.lesson-caption .term { border-bottom: 1px dotted currentColor; cursor: help; }
.lesson-caption .term:hover::after, .lesson-caption .term:focus::after {
  content: attr(data-meaning); position: absolute; left: 0; right: 0; top: calc(100% + 4px);
  z-index: 20; padding: 0.6rem 0.8rem; font-size: 0.86rem; line-height: 1.45;
  border-radius: 8px; border: 1px solid rgba(128, 128, 128, 0.35);
  background: #F6F8FA; color: #1B2430; box-shadow: 0 6px 20px rgba(0, 0, 0, 0.16); }
.lesson-code { container-type: inline-size; }
.lesson-code ol { margin: 0; padding: 0.45rem 0; list-style: none; counter-reset: line;
  border: 1px solid rgba(128, 128, 128, 0.22); border-radius: 8px; }
.lesson-code li { counter-increment: line; padding: 1px 0.3rem 1px 2rem; position: relative;
  font: clamp(0.62rem, 3.6cqi, 0.8rem)/1.5 ui-monospace, Menlo, Consolas, monospace; margin: 0; }
.lesson-code li::before { content: counter(line); position: absolute; left: 0; width: 1.7rem;
  text-align: right; opacity: 0.45; }
.lesson-code li.indent1 { padding-left: 2.9rem; }
.lesson-code li.indent2 { padding-left: 3.8rem; }
.lesson-code li.here { background: rgba(0, 114, 178, 0.16); font-weight: 650;
  box-shadow: inset 3px 0 0 #0072B2; }
.lesson-meaning { font-size: 0.84rem; line-height: 1.45; opacity: 0.8; min-height: 2.4rem;
  margin: 0; }
.st-key-lesson_transport .stButton button { padding: 0.2rem 0.55rem; min-height: 2.2rem; }
.st-key-lesson_transport .stButton [data-testid="stMarkdownContainer"] { position: absolute;
  width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.st-key-lesson_transport kbd, .st-key-lesson_choices kbd { display: none; }
.st-key-lesson_transport { flex-wrap: nowrap; gap: 0.4rem; }
.st-key-lesson_transport [data-testid="stSliderThumbValue"] { display: none; }
.st-key-lesson_choices { gap: 0.4rem; }
.st-key-lesson_head { gap: 0.4rem 1.2rem; }
.lesson-step { font-size: 0.86rem; opacity: 0.75; white-space: nowrap;
  font-variant-numeric: tabular-nums; text-align: right; margin: 0; }
.lesson-numbers { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums;
  font-size: 0.92rem; line-height: 1.3; }
.lesson-numbers td { padding: 0.28rem 0; border: 0; vertical-align: top;
  border-bottom: 1px solid rgba(128, 128, 128, 0.22); }
.lesson-numbers td:last-child { text-align: right; font-weight: 600; padding-left: 0.8rem; }
.lesson-numbers small { display: block; opacity: 0.7; font-size: 0.78rem; }
.lesson-formula { font-size: 1.05rem; line-height: 1.6; margin: 0;
  font-variant-numeric: tabular-nums; }
</style>
"""
UNSEEN = "<style>.st-key-lesson_picture { max-height: 0; overflow: hidden; }</style>"
PROJECTOR = """
<style>
.stSidebar, [data-testid="stSidebarCollapsedControl"], [data-testid="stExpandSidebarButton"] {
  display: none; }
.lesson-caption { font-size: 1.6rem; line-height: 1.4; min-height: 13rem; }
.lesson-caption .term:hover::after, .lesson-caption .term:focus::after { font-size: 1.1rem; }
.lesson-code li { font-size: 1.02rem; }
.lesson-caption .chapter { font-size: 1.1rem; opacity: 0.7; margin: 0 0 0.4rem; }
.lesson-meaning { font-size: 1.05rem; }
.lesson-step { font-size: 1.15rem; }
</style>
"""
