import PrivateCluster
import BrokerHarness

extension Installation {
    /// What the database holds of the sessions in the ledger.
    /// - Parameter server: Where it is now, if it has moved.
    func finalState(of entries: [LedgerEntry], on server: PrivateCluster? = nil) async throws -> FinalState {
        let sql = try session(on: server)
        // The database has only digests of their names.
        let names = Set(entries.map(\.session)).map { "'\($0)'" }.joined(separator: ",")
        let session =
            "(SELECT s.*, n FROM native_sso.session s, unnest(ARRAY[\(names)]::text[]) n WHERE s.sid = sha256(n::bytea))"
        let grants = try await sql.rows(
            """
            SELECT s.n, g.client_id, g.grant_id, g.generation, g.revoked_at IS NOT NULL
            FROM native_sso.sso_grant g JOIN \(session) s USING (session_id)
            """
        ).map { row in
            let columns = row.split(separator: "|").map(String.init)
            return FinalState.Grant(
                session: columns[0], app: columns[1], id: columns[2], generation: Int(columns[3]) ?? 0,
                isRevoked: columns[4] == "t")
        }
        let ended = try await sql.rows("SELECT s.n FROM \(session) s WHERE ended_at IS NOT NULL")
        return FinalState(grants: grants, endedSessions: Set(ended))
    }
}
