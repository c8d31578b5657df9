// Shows the operations whose path, id or summary holds what is typed; all of those of a section whose name does.
const searchOperations = {
  fn: {
    opsFilter: (sections, typed) => {
      const phrase = typed.trim().toLowerCase();
      const holds = (text) => typeof text === "string" && text.toLowerCase().includes(phrase);
      const texts = (found) => [
        found.get("path"),
        found.getIn(["operation", "operationId"]),
        found.getIn(["operation", "summary"]),
      ];
      const isFound = (found) => texts(found).some(holds);
      const shown = (section, name) => (holds(name) ? section : section.update("operations", (all) => all.filter(isFound)));
      return sections.map(shown).filter((section) => section.get("operations").size > 0);
    },
  },
};
