import ArgumentParser
import KeyModule
import StrictCoding

struct KeyInstallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Copy key files into the key directory, with the mode that the broker needs.",
        discussion: """
            For containers: the files of a Kubernetes Secret belong to root and are symbolic links, which the broker \
            refuses. Run this command as the broker's user. It makes the key directory if it is missing, never changes a \
            key file, and needs no database.
            """)

    @Option(help: ArgumentHelp("The directory with the key files.", valueName: "directory")) var from: String
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let provider = FileKeyProvider(directory: try options.read { $0.keys() }.ownDirectory())
        try options.output.show(InstalledKeys(files: try provider.install(from: from)))
    }
}

/// The key files that were not there before.
private struct InstalledKeys: ObjectResult {
    let files: [String]

    var lines: [String] { files.isEmpty ? ["every key file is there already"] : files.map { "installed \($0)" } }

    func members(to json: inout JSONWriter) {
        json.array("installed", of: files) { name, json in json.member("file", name) }
    }
}
