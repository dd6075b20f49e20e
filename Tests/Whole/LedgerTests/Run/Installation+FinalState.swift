import PrivateCluster
import BrokerHarness

extension Installation {
    /// What the database holds.
    /// - Parameter server: Where it is now, if it has moved.
    func finalState(on server: PrivateCluster? = nil) async throws -> FinalState {
        let sql = try session(on: server)
        let grants = try await sql.rows(
            """
            SELECT s.sid, g.client_id, g.grant_id, g.generation, g.revoked_at IS NOT NULL
            FROM native_sso.sso_grant g JOIN native_sso.session s USING (session_id)
            """
        ).map { row in
            let columns = row.split(separator: "|").map(String.init)
            return FinalState.Grant(
                session: columns[0], app: columns[1], id: columns[2], generation: Int(columns[3]) ?? 0,
                isRevoked: columns[4] == "t")
        }
        let ended = try await sql.rows("SELECT sid FROM native_sso.session WHERE ended_at IS NOT NULL")
        return FinalState(grants: grants, endedSessions: Set(ended))
    }
}
