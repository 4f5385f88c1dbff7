// SPDX-License-Identifier: Apache-2.0

// What the trace viewer's own model holds; asked inside its frame. Null: not drawn yet. Processes
// are in the order in which it draws them.
export function lookAtModel() {
  const view = document.querySelector('tr-ui-timeline-view');
  if (!view?.model) return null;
  const processes = [...view.model.getAllProcesses()].map((process) => ({
    name: process.name ?? '',
    order: process.sortIndex,
    threads: Object.values(process.threads).map((thread) => ({
      name: thread.name ?? '',
      slices: thread.sliceGroup.slices.length,
    })),
    // Points of each, with the values of the first and the last.
    counters: Object.fromEntries(Object.values(process.counters).map((counter) => {
      const samples = counter.getSeries(0).samples;
      return [counter.name, [samples.length, samples[0].value, samples.at(-1).value]];
    })),
  }));
  processes.sort((a, b) => a.order - b.order);
  return {
    processes,
    arrows: view.model.flowEvents.length,
    warnings: [...new Set(view.model.importWarnings.map((warning) => warning.message))],
  };
}
