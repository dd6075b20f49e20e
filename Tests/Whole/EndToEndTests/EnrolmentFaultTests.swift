import BrokerTesting
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Enrolments when something breaks, or when many come at once.
    struct EnrolmentFaultTests {
        /// Twenty devices with one id_token at two brokers: one gets the session. One device twenty times: all get the
        /// same.
        @Test(arguments: [NativeProfile.deviceID, .deviceSecret], [true, false])
        func oneTokenAtTwoBrokers(profile: NativeProfile, isOneDevice: Bool) async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let (token, device) = (try fixture.freshToken(), Unguessable.make())
            let answers = try await atOnce(20) { index in
                let form = try fixture.enrolment(token, profile, device: isOneDevice ? device : Unguessable.make())
                return try await (index.isMultiple(of: 2) ? fixture.broker : fixture.replica).settledToken(form)
            }
            let granted = answers.filter { $0.status == 200 }
            // Nobody can tell whether two that ask for a secret are one device.
            #expect(granted.count == (isOneDevice && profile == .deviceID ? 20 : 1), "\(answers.map(\.status))")
            #expect(answers.allSatisfy { $0.status == 200 || $0.error == "invalid_grant" })
            #expect(Set(try granted.map(fixture.sid)).count == 1)
            #expect(try await fixture.sessions(of: token, sql) == 1)
        }

        /// The app sends and disappears before the answer. With its own device value it asks again; an app that waits
        /// for a secret logs in again.
        @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
        func anAnswerThatIsLost(profile: NativeProfile) async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let token = try fixture.freshToken()
            let form = try fixture.enrolment(token, profile)
            let connection = try await HTTPConnection.open(port: fixture.broker.publicPort)
            try await connection.send(HTTPRequest.token(form.parameters).octets)
            connection.abort()
            _ = try await eventually("the enrolment has happened all the same") {
                try await fixture.sessions(of: token, sql) == 1 ? true : nil
            }
            try await goesOn(fixture, token, profile, sql)
        }

        /// Killed when the database has the statement and before it has the answer. The database goes on by itself.
        @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
        func aBrokerThatIsKilledBeforeItsAnswer(profile: NativeProfile) async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let doomed = try await fixture.installation.startBroker("doomed-\(profile == .deviceID)").ready()
            let token = try fixture.freshToken()
            let form = try fixture.enrolment(token, profile)
            let subject = try #require(token.claims.string("sub"))
            // As a logout does, so that the statement waits where it can be met.
            let holder = try fixture.installation.session()
            let lock = "native_sso.logout_lock('sub', '\(fixture.provider.issuer)', '\(subject)')"
            let waiting = """
                SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            let connection = try await HTTPConnection.open(port: doomed.publicPort)
            try await holder.rows("SELECT pg_advisory_lock(\(lock))")
            try await connection.send(HTTPRequest.token(form.parameters).octets)
            _ = try await eventually("the statement waits", every: .milliseconds(5)) {
                try await sql.row(waiting) == "0" ? nil : true
            }
            doomed.process.signal(SIGKILL)
            #expect(await doomed.process.exitStatus == 128 + SIGKILL)
            try await holder.rows("SELECT pg_advisory_unlock(\(lock))")
            _ = try await eventually("nobody waits any more") { try await sql.row(waiting) == "0" ? true : nil }
            // The broker carried out the request, or noticed that the caller had gone. The app cannot tell, and need
            // not.
            try await goesOn(fixture, token, profile, sql)
        }

        /// What the app does when it has no answer: it sends the same again, and where that is refused, logs in anew.
        private func goesOn(
            _ fixture: EnrolmentFixture, _ token: IDToken, _ profile: NativeProfile, _ sql: SQLSession
        ) async throws {
            var answer = try await fixture.replica.settledToken(fixture.enrolment(token, profile))
            if answer.status != 200 {
                #expect(profile == .deviceSecret && answer.error == "invalid_grant", "\(answer.text)")
                #expect(try await sql.auditedReason(of: answer.requestID) == "enrolment_token_used")
                answer = try await fixture.replica.token(fixture.enrolment(fixture.freshToken(), profile))
            }
            #expect(try await fixture.sessions(of: token, sql) == 1)
            let exchanged = try await fixture.replica.token(
                .exchange(
                    try #require(answer.json?.string("id_token"), "\(answer.text)"),
                    issuer: fixture.installation.configuration.issuer,
                    device: answer.json?.string("device_secret") ?? EnrolmentFixture.device, profile: profile,
                    client: "app-two"))
            #expect(exchanged.status == 200, "\(exchanged.text)")
        }

        /// Id_token, assertion and proof of one request are used up together: none by an outage, all by a success.
        @Test func aDatabaseThatIsGone() async throws {
            let fixture = try await FaultFixture.shared
            let sql = try fixture.installation.session()
            let key = try TestKey(.es256, keyID: "enrolling")
            try await sql.register("enrolling", in: .init(group: "vendor", issuer: fixture.logins.issuer)) {
                $0.authentication = "private_key_jwt"
                $0.dpop = "required"
            }
            try await fixture.installation.addKey(key, of: "enrolling")
            let issuer = fixture.installation.configuration.issuer
            func assertion() throws -> String {
                try Assertion(client: "enrolling", audience: issuer, key: key).signed()
            }
            func proof() throws -> String {
                try TestProof(by: key, for: issuer + "/token", at: Int64(time(nil))).signed()
            }
            func request(_ assertion: String, _ proof: String) throws -> HTTPRequest {
                let login = fixture.logins.login()
                var token = login.token
                token.claims["aud"] = .string("enrolling")
                let form = TokenForm.enrolment(
                    try token.signed(), issuer: fixture.logins.issuer, device: login.device, profile: .deviceID,
                    client: "enrolling"
                ).asserted(assertion)
                return HTTPRequest.token(form.parameters, fields: [("DPoP", proof)])
            }
            let port = fixture.broker.publicPort
            _ = try await eventually("the broker knows the client") {
                try await request(try assertion(), try proof()).send(to: port).status == 200 ? true : nil
            }
            let (used, shown) = (try assertion(), try proof())
            let asked = try request(used, shown)
            try await fixture.cluster.kill9()
            let outage = try await asked.send(to: port)
            #expect(outage.isOutage, "\(outage.status) \(outage.text)")
            try await fixture.cluster.restart()
            try await fixture.broker.untilReady()
            let answer = try await asked.send(to: port)
            #expect(answer.status == 200, "\(answer.text)")

            let after = try fixture.installation.session()
            let again = try await request(used, try proof()).send(to: port)
            #expect(again.status == 400 && again.error == "invalid_client", "\(again.text)")
            #expect(try await after.auditedReason(of: again.requestID) == "client_assertion_replayed")
            let replayed = try await request(try assertion(), shown).send(to: port)
            #expect(replayed.status == 400 && replayed.error == "invalid_dpop_proof", "\(replayed.text)")
            #expect(try await after.auditedReason(of: replayed.requestID) == "dpop_replayed")
        }
    }
}
