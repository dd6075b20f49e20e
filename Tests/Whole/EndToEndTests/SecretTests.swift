import Foundation
import BrokerHarness
import Testing

/// Searches everything written during a run for every credential, good or refused: the logs of broker and PostgreSQL,
/// and the whole database.
@Suite(.timeLimit(.minutes(5))) struct SecretTests {
    @Test func nothingSecretIsWrittenDown() async throws {
        let run = try await Development.shared
        var search = SecretSearch()
        search.add(try run.user().password, "the user's password")
        var lastRequest = ""
        for profile in NativeProfile.allCases {
            let login = try await run.logIn(profile)
            search.add(login.idToken, "\(profile): id_token")
            search.add(login.device, "\(profile): device value")
            for secret in login.secrets { search.add(secret, "\(profile): a secret of the login") }
            let exchanged = try await run.token(run.exchange(login, profile))
            let refresh = try #require(exchanged.refreshToken, "\(exchanged.text)")
            search.add(refresh, "\(profile): refresh token")
            search.add(try #require(exchanged.accessToken), "\(profile): access token")
            let refreshed = try await run.token(.refresh(refresh, client: Development.target))
            search.add(try #require(refreshed.refreshToken), "\(profile): next refresh token")
            search.add(try #require(refreshed.accessToken), "\(profile): next access token")

            // What is refused is written about, which is where secrets get into logs.
            var refused = try run.exchange(login, profile)
            let stranger = Unguessable.make()
            search.add(stranger, "\(profile): a wrong device value")
            refused["actor_token"] = stranger
            #expect(try await run.token(refused).error == "invalid_grant")
            refused["client_secret"] = Unguessable.make()
            search.add(refused["client_secret"] ?? "", "\(profile): an unwanted secret")
            #expect(try await run.token(refused).error == "invalid_client")
            refused = .refresh(refresh + "x", client: Development.target)
            let last = try await run.token(refused)
            #expect(last.error == "invalid_grant")
            lastRequest = try #require(last["X-Request-Id"])
        }
        try await check(search, run, after: lastRequest)
    }

    private func check(_ search: SecretSearch, _ run: Development, after requestID: String) async throws {
        let development = run.development
        let url = try development.text("database.administration_url")
        let environment = ["PGPASSFILE": try development.text("database.pgpass_file")]
        let errors = FileManager.default.temporaryDirectory.appending(path: "pg_dump-\(Unguessable.make()).log")
        defer { try? FileManager.default.removeItem(at: errors) }
        let dump = try await eventually("the last refusal is in the audit") {
            let dump = try await ManagedProcess.run(
                "/usr/bin/env", ["pg_dump", "--data-only", "-d", url], environment: environment, log: errors)
            return dump.status == 0 && dump.output.contains(requestID) ? dump.output : nil
        }
        #expect(search.findings(in: dump).isEmpty, "the database")
        for name in ["broker.log", "broker.administration_log", "database.log"] {
            let text = try String(contentsOfFile: try development.text(name), encoding: .utf8)
            #expect(search.findings(in: text).isEmpty, "\(name)")
        }
        // The search finds what is there: the log names each request.
        var control = SecretSearch()
        control.add(requestID, "a request id")
        let log = try String(contentsOfFile: try development.text("broker.log"), encoding: .utf8)
        #expect(control.findings(in: log) == ["a request id"])
    }
}
