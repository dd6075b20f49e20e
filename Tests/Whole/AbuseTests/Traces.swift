import Foundation
import PrivateCluster
import StrictCoding
import SystemTesting

/// What broker and PostgreSQL write from a moment on.
struct Traces {
    private let files: [(file: URL, start: UInt64)]

    init(_ stage: Stage) throws {
        files = try [
            stage.running.log, stage.secured.log, URL(filePath: stage.installation.cluster.directory + "/log"),
        ].map { file in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return (file, try handle.seekToEnd())
        }
    }

    /// The logs since then, and what the audit has of these requests.
    func text(ofRequests requestIDs: [String], _ stage: Stage) async throws -> String {
        let logs = try files.map { file, start in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            try handle.seek(toOffset: start)
            return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        }
        let ids = requestIDs.map { "'\($0)'" }.joined(separator: ",")
        let rows = try await stage.sql.rows(
            "SELECT a::text FROM native_sso.audit_event a WHERE request_id IN (\(ids))")
        return (logs + rows).joined(separator: "\n")
    }
}
