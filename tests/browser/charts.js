// SPDX-License-Identifier: Apache-2.0
// Stands in for Google Charts, which TensorBoard's plug-ins load from the network: it has what
// their pages call of it, and draws simply. Each chart becomes a <figure data-chart="ColumnChart">
// with the title, a picture, and the numbers that the page gave to it as a <table>, for tests.
(() => {
  const COLORS = ['#3366cc', '#dc3912', '#ff9900', '#109618', '#990099', '#0099c6', '#dd4477',
    '#66aa00', '#b82e2e', '#316395'];
  const HEIGHT = 300;
  const LEGEND = 22;
  const LEFT = 70;
  const LETTER = 6; // px that one takes, about

  const isCell = (cell) => cell !== null && typeof cell === 'object' && 'v' in cell;
  const valueOf = (cell) => (isCell(cell) ? cell.v : cell);
  const textOf = (cell) => {
    if (isCell(cell)) return cell.f ?? textOf(cell.v);
    return cell === null || cell === undefined ? '' : String(cell);
  };

  class DataTable {
    // As xprof's server answers: { cols: [{ id, label, type }], rows: [{ c: [{ v, f }] }] }.
    constructor(data = { cols: [], rows: [] }) {
      this.columns = data.cols.map((column) => ({ ...column }));
      this.rows = data.rows.map((row) => row.c.map((cell) => cell ?? null));
      this.properties = data.p ?? {};
    }

    addColumn(type, label, id) {
      this.columns.push(typeof type === 'object' ? type : { type, label, id });
      for (const row of this.rows) row.push(null);
    }

    addRows(rows) { for (const row of rows) this.rows.push([...row]); }
    getColumnId(i) { return this.columns[i].id ?? ''; }
    getColumnIndex(id) {
      return this.columns.findIndex((column, i) => [column.id, column.label, i].includes(id));
    }

    getColumnLabel(i) { return this.columns[i].label ?? ''; }
    getColumnRole(i) { return this.columns[i].role ?? this.columns[i].p?.role ?? ''; }
    getColumnType(i) { return this.columns[i].type; }
    getNumberOfColumns() { return this.columns.length; }
    getNumberOfRows() { return this.rows.length; }
    getTableProperty(name) { return this.properties[name] ?? null; }
    getValue(r, c) { return valueOf(this.rows[r][c]) ?? null; }
    setProperty() {}

    getFilteredRows(filters) {
      const fits = (row) => filters.every(({ column, value, test }) => {
        const found = valueOf(row[column]);
        return (value === undefined || found === value) && (test === undefined || test(found));
      });
      return this.rows.map((row, i) => (fits(row) ? i : -1)).filter((i) => i >= 0);
    }

    removeColumn(at) {
      this.columns.splice(at, 1);
      for (const row of this.rows) row.splice(at, 1);
    }

    setCell(r, c, v, f) { this.rows[r][c] = { v, f }; }

    getSortedRows(order) {
      const keys = (Array.isArray(order) ? order : [order])
        .map((key) => (typeof key === 'object' ? key : { column: key }));
      return this.rows.map((row, i) => i).sort((a, b) => {
        for (const { column, desc } of keys) {
          const [x, y] = [this.getValue(a, column), this.getValue(b, column)];
          if (x !== y) return (x < y ? -1 : 1) * (desc ? -1 : 1);
        }
        return 0;
      });
    }

    sort(order) { this.rows = this.getSortedRows(order).map((i) => this.rows[i]); }
  }

  // A choice of the columns and rows of a table, made when it is asked for.
  class DataView extends DataTable {
    constructor(table) {
      super();
      this.table = table;
      this.setColumns(table.columns.map((column, i) => i));
    }

    setColumns(wanted) {
      this.chosen = wanted;
      this.columns = wanted.map((i) => this.table.columns[i]);
      this.rows = this.table.rows.map((row) => wanted.map((i) => row[i]));
    }

    hideColumns(hidden) { this.setColumns(this.chosen.filter((i) => !hidden.includes(i))); }
    setRows(wanted) { this.rows = wanted.map((i) => this.rows[i]); }
    toDataTable() {
      return Object.assign(new DataTable(), { columns: this.columns, rows: this.rows });
    }
  }

  const DRAWING = ['svg', 'rect', 'path', 'text', 'line'];

  function element(name, attributes, ...children) {
    const space = DRAWING.includes(name) ? 'http://www.w3.org/2000/svg'
      : 'http://www.w3.org/1999/xhtml';
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Tooltips and styles are no numbers of the chart.
  const shownColumns = (data) => data.columns.map((column, i) => i)
    .filter((i) => !data.getColumnRole(i));

  function tableOf(data) {
    const columns = shownColumns(data);
    const style = 'padding: 2px 8px; border-bottom: 1px solid #ddd; text-align: left';
    const row = (kind, texts) => (
      element('tr', {}, ...texts.map((text) => element(kind, { style }, text))));
    return element(
      'table',
      { style: 'border-collapse: collapse; font: 12px sans-serif' },
      element('thead', {}, row('th', columns.map((i) => data.getColumnLabel(i)))),
      element('tbody', {}, ...data.rows.map((cells) => (
        row('td', columns.map((i) => textOf(cells[i])))))),
    );
  }

  const label = (x, y, text, anchor = 'middle') => element('text', {
    x, y, 'text-anchor': anchor, 'font-size': 11, 'font-family': 'sans-serif', fill: '#444',
  }, text);

  const key = (x, y, fill) => element('rect', { x, y: y - 9, width: 10, height: 10, fill });

  const rule = (width, y) => element('line', { x1: LEFT, x2: width, y1: y, y2: y, stroke: '#ddd' });

  function legendOf(names, colors, width, y) {
    const room = (width - LEFT) / Math.max(1, names.length);
    return names.flatMap((name, i) => [
      key(LEFT + i * room, y, colors[i % colors.length]),
      label(LEFT + i * room + 14, y, name.slice(0, Math.floor(room / LETTER) - 3), 'start')]);
  }

  const numberOf = (row, i) => Number(valueOf(row[i])) || 0;
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  // Of each row a stack of its numbers.
  function stacks(data, width, height, colors) {
    const [names, ...series] = shownColumns(data);
    const numbers = data.rows.map((row) => series.map((i) => numberOf(row, i)));
    const most = Math.max(...numbers.map(sum), 1e-9);
    const foot = height - LEGEND - 20;
    const room = (width - LEFT - 10) / Math.max(1, data.rows.length);
    const drawn = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => {
      const y = foot - part * (foot - 12);
      return [rule(width, y),
        label(LEFT - 6, y + 4, Math.round(part * most).toLocaleString('en'), 'end')];
    });
    numbers.forEach((row, r) => {
      const x = LEFT + r * room;
      let y = foot;
      row.forEach((value, i) => {
        const tall = value / most * (foot - 12);
        y -= tall;
        const fill = colors[i % colors.length];
        drawn.push(element('rect', { x: x + room / 5, y, width: room * 0.6, height: tall, fill }));
      });
      drawn.push(label(x + room / 2, foot + 15, textOf(data.rows[r][names])));
    });
    const labels = series.map((i) => data.getColumnLabel(i));
    return [...drawn, ...legendOf(labels, colors, width, height - 4)];
  }

  // A line for each column of numbers, over the first column; a value holds until the next one.
  function lines(data, width, height, colors) {
    const [across, ...series] = shownColumns(data);
    const xs = data.rows.map((row) => numberOf(row, across));
    const [first, last] = [Math.min(...xs), Math.max(...xs)];
    const all = data.rows.flatMap((row) => series.map((i) => numberOf(row, i)));
    const most = Math.max(...all, 1e-9);
    const foot = height - LEGEND - 20;
    const x = (value) => LEFT + (value - first) / (last - first || 1) * (width - LEFT - 10);
    const y = (value) => foot - value / most * (foot - 12);
    const drawn = series.map((column, i) => {
      const steps = data.rows.map((row, r) => (r ? `H ${x(xs[r])} V ${y(numberOf(row, column))}`
        : `M ${x(xs[0])} ${y(numberOf(row, column))}`));
      const stroke = colors[i % colors.length];
      return element('path', { d: steps.join(' '), fill: 'none', stroke, 'stroke-width': 2 });
    });
    const scale = [0, 0.5, 1].flatMap((part) => {
      const at = first + part * (last - first);
      return [rule(width, y(part * most)),
        label(LEFT - 6, y(part * most) + 4, (part * most).toPrecision(3), 'end'),
        label(x(at), foot + 15, at.toFixed(1), part ? 'end' : 'start')];
    });
    const labels = series.map((i) => data.getColumnLabel(i));
    return [...scale, ...drawn, ...legendOf(labels, colors, width, height - 4)];
  }

  function pie(data, width, height, colors) {
    const [names, values] = shownColumns(data);
    const numbers = data.rows.map((row) => numberOf(row, values));
    const total = sum(numbers) || 1;
    const radius = Math.min(height, width / 2) / 2 - 10;
    const [x, y] = [radius + 10, height / 2];
    const at = (part) => {
      const angle = 2 * Math.PI * part;
      return `${x + radius * Math.sin(angle)} ${y - radius * Math.cos(angle)}`;
    };
    const letters = Math.max(8, Math.floor((width - 2 * radius - 50) / LETTER) - 7);
    let before = 0;
    return numbers.flatMap((number, i) => {
      const part = Math.min(number / total, 0.99999); // an arc cannot be a whole circle
      const arc = `A ${radius} ${radius} 0 ${part > 0.5 ? 1 : 0} 1 ${at(before + part)}`;
      const d = `M ${x} ${y} L ${at(before)} ${arc} Z`;
      const fill = colors[i % colors.length];
      const name = textOf(data.rows[i][names]).slice(0, letters);
      before += part;
      return [element('path', { d, fill }), key(2 * radius + 30, 20 + 16 * i, fill),
        label(2 * radius + 44, 20 + 16 * i, `${(100 * part).toFixed(1)} % ${name}`, 'start')];
    });
  }

  // There for tests, but no part of the picture.
  const ASIDE = 'position: absolute; width: 1px; height: 1px; overflow: hidden; '
    + 'clip-path: inset(50%)';

  const chart = (kind, picture) => class {
    constructor(container) { this.container = container; }

    draw(data, options = {}) {
      const width = (this.container.offsetWidth || 600) - 16;
      const height = Number(options.height) || HEIGHT;
      const figure = element('figure', { 'data-chart': kind, style: 'margin: 8px' });
      if (options.title) {
        const style = 'font: bold 13px sans-serif';
        figure.append(element('figcaption', { style }, options.title));
      }
      if (picture) {
        figure.append(element(
          'svg',
          { width, height },
          ...picture(data, width, height, options.colors ?? COLORS),
        ));
      }
      figure.append(element('div', picture ? { style: ASIDE } : {}, tableOf(data)));
      this.container.replaceChildren(figure);
    }

    clearChart() { this.container.replaceChildren(); }
    getSelection() { return []; }
    setSelection() {}
  };

  class Format { format() {} }

  const visualization = {
    DataTable,
    DataView,
    NumberFormat: Format,
    PatternFormat: Format,
    events: { addListener() {} },
    Table: chart('Table'),
    PieChart: chart('PieChart', pie),
    LineChart: chart('LineChart', lines),
  };
  for (const kind of ['AreaChart', 'BarChart', 'ColumnChart', 'ComboChart', 'SteppedAreaChart']) {
    visualization[kind] = chart(kind, stacks);
  }
  // There are two ways to hear that it is there: a promise, and a callback.
  const load = () => Promise.resolve();
  const setOnLoadCallback = (callback) => setTimeout(callback, 0);
  window.google = { charts: { load, safeLoad: load, setOnLoadCallback }, visualization };
})();
