import Foundation
package import StrictCoding

/// A `native-sso-dev up` that runs beside the tests, and where everything of it is.
package final class DevelopmentRun: Sendable {
    package let process: ManagedProcess
    /// The line that it printed.
    package let description: JSONObject

    /// Starts one on free ports; returns when all of it answers.
    package init(_ arguments: String...) async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "native-sso-dev-\(Unguessable.make()).log")
        defer { try? FileManager.default.removeItem(at: log) }
        process = try ManagedProcess(
            try BuildProducts.path(of: "native-sso-dev"), ["up", "--port-base", "0"] + arguments, log: log)
        guard let line = try? await process.nextLine(), let object = try? JSONReader.parse(Array(line.utf8)).object
        else { throw await process.ended(because: "did not say where everything is") }
        description = object
    }

    deinit { process.signal(SIGTERM) }

    /// A member by its path: `broker.token_endpoint`.
    package func text(_ path: String) throws -> String {
        var object = description
        let names = path.split(separator: ".").map(String.init)
        for name in names.dropLast() {
            guard let inner = object.object(name) else { throw Missing(path: path) }
            object = inner
        }
        guard let text = object.string(names.last ?? "") else { throw Missing(path: path) }
        return text
    }

    /// The number of a process: `broker`, `identity_provider`.
    package func pid(of name: String) throws -> Int32 {
        guard let pid = description.object(name)?.number("pid")?.int64.flatMap({ Int32(exactly: $0) }) else {
            throw Missing(path: "\(name).pid")
        }
        return pid
    }

    package func port(_ path: String) throws -> UInt16 { try Self.port(try text(path)) }

    /// Of a resource server.
    package func serverPort(_ index: Int) throws -> UInt16 {
        let servers = (description.array("servers") ?? []).compactMap(\.object)
        guard servers.indices.contains(index), let address = servers[index].string("address") else {
            throw Missing(path: "servers.\(index)")
        }
        return try Self.port(address)
    }

    /// Runs the broker's command line as its operator.
    @discardableResult
    package func command(_ arguments: String...) async throws -> ManagedProcess.Outcome {
        try await ManagedProcess.run(
            try text("broker.program"), ["--config", try text("broker.administration_configuration")] + arguments)
    }

    package struct Missing: Error {
        let path: String

        package init(path: String) { self.path = path }
    }

    private static func port(_ address: String) throws -> UInt16 {
        let authority = address.split(separator: "/").dropFirst().first ?? ""
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Missing(path: "a port in \(address)")
        }
        return port
    }
}
