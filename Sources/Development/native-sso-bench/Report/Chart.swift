import Foundation

/// Lines over two linear or logarithmic axes, as one SVG that follows the reader's light or dark mode.
struct Chart: Sendable {
    struct Line: Sendable {
        let name: String
        /// In the order of the x values. Finite and, on the x axis, above 0.
        let points: [(x: Double, y: Double)]
        var isDashed = false
        /// Which colour; lines that belong together share one.
        let hue: Int
    }

    let title: String
    let xTitle: String
    let yTitle: String
    /// 1, 2, 4, 8: with the same distance between them.
    let hasLogarithmicX: Bool
    let lines: [Line]

    private static let size = (width: 760.0, height: 380.0)
    private static let plot = (left: 70.0, top: 48.0, right: 560.0, bottom: 330.0)
    /// Told apart by colour-blind readers, on white and on black: Okabe and Ito.
    private static let hues = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]

    var svg: String {
        let xs = lines.flatMap { $0.points.map(\.x) }
        let top = Self.roundUp(lines.flatMap { $0.points.map(\.y) }.max() ?? 1)
        let (least, most) = (xs.min() ?? 0, xs.max() ?? 1)
        func across(_ x: Double) -> Double {
            let (x, from, to) = hasLogarithmicX ? (log2(x), log2(least), log2(most)) : (x, 0, most)
            return Self.plot.left + (to > from ? (x - from) / (to - from) : 0.5) * (Self.plot.right - Self.plot.left)
        }
        func up(_ y: Double) -> Double { Self.plot.bottom - y / top * (Self.plot.bottom - Self.plot.top) }

        var parts = [Self.head(title)]
        for step in 0...4 {
            let y = top * Double(step) / 4
            parts.append(
                "<line class=\"grid\" x1=\"\(Self.text(Self.plot.left))\" x2=\"\(Self.text(Self.plot.right))\" y1=\"\(Self.text(up(y)))\" y2=\"\(Self.text(up(y)))\"/>"
            )
            parts.append(Self.label(Self.number(y), Self.plot.left - 8, up(y) + 4, anchor: "end"))
        }
        let ticks = hasLogarithmicX ? Set(xs).sorted() : Array(stride(from: 0, through: most, by: Self.step(most)))
        for x in ticks { parts.append(Self.label(Self.number(x), across(x), Self.plot.bottom + 20, anchor: "middle")) }
        parts.append(
            Self.label(xTitle, (Self.plot.left + Self.plot.right) / 2, Self.plot.bottom + 42, anchor: "middle"))
        parts.append(Self.label(yTitle, Self.plot.left, Self.plot.top - 10, anchor: "start"))
        for (line, height) in zip(lines, Self.spread(lines.map { up($0.points.last?.y ?? 0) })) {
            let points = line.points.map { "\(Self.text(across($0.x))),\(Self.text(up($0.y)))" }
            let style = "class=\"h\(line.hue % Self.hues.count)\""
            parts.append(
                "<polyline \(style) points=\"\(points.joined(separator: " "))\"\(line.isDashed ? " stroke-dasharray=\"5 4\"" : "")/>"
            )
            let end = across(line.points.last?.x ?? 0)
            parts.append(Self.label(line.name, max(end, Self.plot.right) + 10, height + 4, anchor: "start", style))
        }
        return parts.joined(separator: "\n") + "\n</svg>\n"
    }

    // MARK: Parts

    private static func head(_ title: String) -> String {
        let hues = hues.enumerated().map { index, colour in
            "polyline.h\(index) { stroke: \(colour); } text.h\(index) { fill: \(colour); }"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(text(size.width)) \(text(size.height))" role="img">
            <title>\(escaped(title))</title>
            <style>
            svg { background: #ffffff; }
            text { font: 13px sans-serif; fill: #24292f; }
            polyline { fill: none; stroke-width: 2; }
            .grid { stroke: #d0d7de; }
            \(hues.joined(separator: "\n"))
            @media (prefers-color-scheme: dark) {
            svg { background: #0d1117; }
            text { fill: #e6edf3; }
            .grid { stroke: #30363d; }
            }
            </style>
            \(label(title, plot.left, 20, anchor: "start"))
            """
    }

    private static func label(
        _ words: String, _ x: Double, _ y: Double, anchor: String, _ style: String = ""
    ) -> String {
        "<text x=\"\(text(x))\" y=\"\(text(y))\" text-anchor=\"\(anchor)\"\(style.isEmpty ? "" : " " + style)>\(escaped(words))</text>"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    // MARK: Numbers

    private static func text(_ value: Double) -> String { value.rounded(to: 1) }

    private static func number(_ value: Double) -> String {
        let text = value.rounded(to: value < 10 && value != value.rounded() ? 1 : 0)
        return value >= 10_000 ? "\((value / 1000).rounded(to: 0))k" : text
    }

    /// The next of 1, 2, 4 or 8 times a power of ten.
    private static func roundUp(_ value: Double) -> Double {
        guard value > 0 else { return 1 }
        let power = pow(10, floor(log10(value)))
        return ([1, 2, 4, 8].first { $0 * power >= value } ?? 10) * power
    }

    /// 1, 2 or 5 times a power of ten: at most six of them up to `most`.
    private static func step(_ most: Double) -> Double {
        let power = pow(10, floor(log10(max(most, 1e-9))) - 1)
        return ([1, 2, 5, 10, 20].first { most / ($0 * power) <= 6 } ?? 50) * power
    }

    /// Moves labels apart that would cover each other; their order stays.
    private static func spread(_ heights: [Double]) -> [Double] {
        var result = heights
        var last = -Double.infinity
        for index in heights.indices.sorted(by: { heights[$0] < heights[$1] }) {
            result[index] = max(heights[index], last + 16)
            last = result[index]
        }
        return result
    }
}
