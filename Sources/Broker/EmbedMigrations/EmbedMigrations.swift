import Foundation
import PackagePlugin

/// Writes the SQL files of `Migrations` into a Swift source, so that the binary contains them and a new file needs no
/// other edit.
@main struct EmbedMigrations: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let files = try FileManager.default.contentsOfDirectory(
            at: target.directoryURL, includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "sql" && $0.lastPathComponent != "schema.sql" }
        .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
        let script = ####"""
            output=$1; shift
            { echo 'let embeddedFiles: [(name: String, text: String)] = ['
              for file in "$@"; do printf '("%s", ###"""\n' "${file##*/}"; cat "$file"; echo '"""###),'; done
              echo ']'; } > "$output"
            """####
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) migrations", executable: URL(fileURLWithPath: "/bin/sh"),
                arguments: ["-euc", script, "sh", output.path] + files.map(\.path), inputFiles: files,
                outputFiles: [output])
        ]
    }
}
