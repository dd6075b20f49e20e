import ArgumentParser
import Foundation

struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table", abstract: "The table of the guide, of a report on standard input.",
        discussion: "deploy/bench exchange > report.json; deploy/bench table < report.json. Also of deploy/bench ends.")

    func run() throws {
        let report = try FileHandle.standardInput.readToEnd() ?? Data()
        print(try MarkdownTable(report: Array(report)).text)
    }
}
