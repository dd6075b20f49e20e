import ChildProcesses
package import Foundation
package import PrivateCluster

/// A `psql` that stays: a look into a database that owes nothing to the code under test.
package actor SQLSession {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let endOfAnswer = "--- end of answer ---"
    private let process: ManagedProcess
    private let input: FileHandle

    package init(_ cluster: PrivateCluster, database: String, log: URL) throws {
        let channel = try PrivateChannel()
        input = channel.writing
        process = try ManagedProcess(
            "/usr/bin/env",
            [
                "psql", "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d",
                cluster.connectionURI(database: database),
            ],
            environment: [
                "PGPASSFILE": cluster.passwordFile, "PGCONNECT_TIMEOUT": "30",
                "PGOPTIONS": "-c client_min_messages=warning",
            ], log: log, input: channel.reading)
        try channel.reading.close()
    }

    /// The rows that a statement gives, a line each, columns separated by `|`.
    ///
    /// The statement is text of a test, never anything that came over a wire.
    @discardableResult
    package func rows(_ sql: String) async throws -> [String] {
        do {
            try input.send("\(sql);\n\\echo \(Self.endOfAnswer)\n")
        } catch {
            throw ended
        }
        var rows: [String] = []
        while let line = try await process.nextLine() {
            if line == Self.endOfAnswer { return rows }
            rows.append(line)
        }
        throw ended
    }

    /// Why the broker refused a request, as the audit has it. The broker records it a moment after its answer.
    package nonisolated func auditedReason(of requestID: String) async throws -> String {
        try await eventually("request \(requestID) is audited") {
            try await rows(
                """
                SELECT reason FROM native_sso.audit_event
                WHERE request_id = '\(requestID)' AND kind <> 'code_orphaned'
                """
            ).first
        }
    }

    private var ended: Failure {
        let log = (try? String(contentsOf: process.log, encoding: .utf8)) ?? ""
        return Failure(description: "psql ended: \(log.suffix(500))")
    }

    /// The only row.
    package func row(_ sql: String) async throws -> String {
        let rows = try await rows(sql)
        guard rows.count == 1 else { throw Failure(description: "\(rows.count) rows for \(sql)") }
        return rows[0]
    }
}
