import ArgumentParser
import Foundation

struct PlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot", abstract: "Draw the report on standard input as SVG charts.",
        discussion: """
            deploy/bench exchange > report.json; deploy/bench plot --to deploy/guide/charts < report.json

            Writes throughput.svg, cpu.svg and latency.svg for exchange and refresh, and soak.svg for soak. \
            Each follows the reader's light or dark mode.
            """)

    @Option(help: "The folder for the charts.") var to = "."

    func run() throws {
        let report = try FileHandle.standardInput.readToEnd() ?? Data()
        let folder = URL(filePath: to, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, chart) in try ReportCharts(report: Array(report)).charts {
            try chart.svg.write(to: folder.appending(path: "\(name).svg"), atomically: true, encoding: .utf8)
        }
    }
}

struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table", abstract: "The table of the guide, of a report on standard input.",
        discussion: "deploy/bench exchange > report.json; deploy/bench table < report.json.")

    func run() throws {
        let report = try FileHandle.standardInput.readToEnd() ?? Data()
        print(try MarkdownTable(report: Array(report)).text)
    }
}
