import Foundation

/// The programs that are started, and what they see of the environment.
struct ProgramFiles: Sendable {
    /// This program.
    let developmentTool: String
    /// The broker, beside it.
    let broker: String

    /// Those beside this program.
    static func locate() throws -> ProgramFiles {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try ProgramFiles(in: URL(filePath: own).deletingLastPathComponent().path)
    }

    /// - Throws: ``MissingProgram``.
    init(in directory: String) throws(MissingProgram) {
        developmentTool = "\(directory)/native-sso-dev"
        broker = "\(directory)/native-sso"
        for program in [developmentTool, broker] where !FileManager.default.isExecutableFile(atPath: program) {
            throw MissingProgram(path: program)
        }
    }

    /// What the programs see of the environment.
    static var environment: [String: String] { passedOn(ProcessInfo.processInfo.environment) }

    /// All of it but the broker's own variables, which would win over its configuration file.
    static func passedOn(_ environment: [String: String]) -> [String: String] {
        environment.filter { !$0.key.hasPrefix("NATIVE_SSO_") }
    }
}

struct MissingProgram: Error, Equatable, CustomStringConvertible {
    let path: String

    var description: String { "there is no \(path): build the package first (swift build)" }
}
