import ArgumentParser
import FoundationEssentials
import NativeSSO
import PostgresClient
import Registry

/// What a shell completes, from the registry. Without a database, nothing.
enum Candidates {
    static let clients = CompletionKind.custom { arguments, _, prefix in
        await names(arguments, prefix) { try await $0.clients().map(\.id.string) }
    }
    static let groups = CompletionKind.custom { arguments, _, prefix in
        await names(arguments, prefix) { try await $0.groups().map(\.id.string) }
    }
    static let kids = CompletionKind.custom { arguments, _, prefix in
        await names(arguments, prefix) { try await $0.keys().records.map(\.kid) }
    }

    /// - Parameter arguments: The command line so far, which may name a configuration.
    private static func names(
        _ arguments: [String], _ prefix: String, _ list: @Sendable (Administration) async throws -> [String]
    ) async -> [String] {
        let file =
            arguments.firstIndex(of: "--config").flatMap { arguments.dropFirst($0 + 1).first }
            ?? GlobalOptions.standardFile
        let read = try? ConfigurationReader.read(
            file: file, environment: ProcessInfo.processInfo.environment, openingFiles: true, { $0.database() })
        guard let database = read?.0 else { return [] }
        // A shell waits.
        let all = try? await database.administer(within: .seconds(1), list)
        return (all ?? []).filter { $0.hasPrefix(prefix) }
    }
}
