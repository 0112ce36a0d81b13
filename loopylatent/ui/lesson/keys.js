/* Counts presses of the arrow keys, except in fields that use them. Python receives the count,
 * not single presses, so none is lost while it is busy. */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/* Fields in which the arrows move a cursor, a slider or a choice. */
function takesArrows(target) {
  if (!target || !target.tagName) return false;
  if (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName)) return true;
  if (target.tagName === "INPUT") return !["checkbox", "button"].includes(target.type);
  const role = target.getAttribute("role");
  return ["slider", "tab", "radio", "listbox", "combobox", "grid"].includes(role);
}

export default function ({ parentElement, setStateValue }) {
  const root = parentElement.querySelector(".keys");
  root.counter ??= String(Math.random());
  root.count ??= 0;
  root.reply = setStateValue;
  if (!root.listener) {
    root.listener = (event) => {
      const step = STEPS[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (takesArrows(event.composedPath()[0])) return;
      event.preventDefault();
      root.count += step;
      root.reply("pressed", { counter: root.counter, count: root.count });
    };
    window.addEventListener("keydown", root.listener);
  }
  return () => {
    window.removeEventListener("keydown", root.listener);
    root.listener = undefined;
  };
}
