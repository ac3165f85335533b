// Shows states that need a pointer or the keyboard on elements that have neither.

const states = [
  [':hover', '.show-hover'],
  [':focus-visible', '.show-focus'],
] as const;

/** Repeats the rules of a style sheet for a state, so that a class shows it too. */
function copyRules(sheet: CSSStyleSheet | CSSGroupingRule): void {
  const rules = [...sheet.cssRules];
  for (const rule of rules) {
    if (rule instanceof CSSStyleRule) {
      for (const [state, shown] of states) {
        if (!rule.selectorText.includes(state)) continue;
        const text = rule.cssText.replaceAll(state, shown);
        sheet.insertRule(text, sheet.cssRules.length);
      }
    } else if (rule instanceof CSSGroupingRule) copyRules(rule);
  }
}

/** Makes the classes show-hover and show-focus show the real styles of those states. */
export function copyStates(): void {
  for (const sheet of document.styleSheets) copyRules(sheet);
}
