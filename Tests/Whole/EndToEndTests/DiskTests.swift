import Crypto
import Foundation
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// A thief of the database's disk, WAL or logs, or of the broker's log, finds no current or former secret.
/// The server logs every statement with its parameters, so the search also covers the values sent to it.
@Suite(.timeLimit(.minutes(5))) struct DiskTests {
    @Test func noSecretIsOnTheDatabasesDisk() async throws {
        let fixture = try await DiskFixture()
        var secrets = SecretSearch()
        // The secret has 256 random bits. The database stores its SHA-256 on purpose.
        secrets.add(fixture.secret, "the client's secret")
        secrets.add(fixture.providerSecret, "the broker's secret at the identity provider")
        try addKeys(of: fixture, to: &secrets)
        var run = DiskRun(fixture, secrets: secrets)
        for app in DiskFixture.App.allCases {
            for profile in DiskFixture.profiles {
                try await run.exchanges(by: app, profile)
                try await run.enrolments(by: app, profile)
                try await run.codes(by: app, profile)
            }
            try await run.codes(by: app, nil)
        }
        try await run.exchanges(by: .plain, .transitional)
        try await run.misplacedSecrets()
        try await run.refusedAuthentication()
        try await run.logouts()
        // On shutdown the broker writes its pending records.
        #expect(await fixture.running.process.terminate() == 0)
        let log = try fixture.running.logText()
        #expect(run.secrets.findings(in: log).isEmpty)
        // The search finds what is there: the log names each request.
        var control = SecretSearch()
        control.add(try #require(run.refusals.last).requestID, "a request id")
        #expect(control.findings(in: log) == ["a request id"])
        for refusal in run.refusals {
            let reasons = try await fixture.sql.rows(
                "SELECT reason FROM native_sso.audit_event WHERE request_id = '\(refusal.requestID)'")
            // Every event of the refused request has this reason, revocations too.
            #expect(Set(reasons) == [refusal.reason])
        }
        try await Control.write(to: fixture, lookedForBy: &run.secrets)
        try await fixture.sql.rows("CHECKPOINT")

        // One search for everything: the files are large.
        let all = try run.secrets.findings(inFilesUnder: URL(filePath: fixture.cluster.directory))
        Control.check(all.filter(Control.isOne))
        // The database compares the requested scope, but does not store a scope that the app may not have. It knows a `sid`
        // by its SHA-256 only.
        let isDigest = { (form: String) in form.hasPrefix("SHA-256 of ") && form.contains("the identity provider's sid")
        }
        #expect(all.contains { isDigest($0.form) })
        let findings = all.filter {
            !Control.isOne($0) && !isDigest($0.form) && !($0.form.hasPrefix("a secret as scope") && $0.file == "log")
        }
        #expect(
            Set(findings.map(\.form)) == [
                "SHA-256 of the client's secret", "SHA-256 of the client's secret, hexadecimal",
            ], "\(findings)")
    }

    /// Adds the broker's keys. The database never receives one.
    private func addKeys(of fixture: DiskFixture, to secrets: inout SecretSearch) throws {
        let directory = fixture.installation.directory.appending(path: "keys")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        #expect(files.count >= 3)
        for file in files {
            let (octets, name) = (Array(try Data(contentsOf: file)), "the key \(file.lastPathComponent)")
            secrets.add(octets: octets, name)
            guard octets.starts(with: Array("-----".utf8)) else { continue }
            let key = try P256.Signing.PrivateKey(pemRepresentation: String(decoding: octets, as: UTF8.self))
            secrets.add(octets: Array(key.rawRepresentation), name)
            secrets.add(octets: Array(key.derRepresentation), name)
        }
    }
}

/// Values that the search must find, as proof that it works: values that are stored on purpose, and a secret in every
/// known form, written by the database's own functions.
private enum Control {
    /// Writes the control values and adds them to the search.
    static func write(to fixture: DiskFixture, lookedForBy search: inout SecretSearch) async throws {
        // Several of each: a WAL page header may split one.
        for subject in try await fixture.sql.rows("SELECT subject FROM native_sso.session ORDER BY created_at LIMIT 8")
        {
            search.add(subject, "control: a sub")
        }
        let answers = try await fixture.sql.rows(
            "SELECT encode(substr(answer, 1, 60), 'hex') FROM native_sso.relayed_code WHERE state = 'answered' LIMIT 8")
        for answer in answers {
            search.add(octets: try #require(Hexadecimal.decode(answer)), "control: a sealed answer")
        }
        let secret = Unguessable.make()
        // At any offset in a group of three octets, its base64 has characters that base64url lacks.
        let punctuated = Unguessable.make() + "+/=???>>>"
        search.add(secret, "control: plain")
        search.add(punctuated, "control: punctuated")
        try await fixture.sql.rows("CREATE TABLE public.control (text text, octets bytea)")
        for _ in 0..<8 { try await fixture.sql.rows(statement(secret, punctuated)) }
    }

    /// Removes the line breaks of `encode`: the search would miss a broken value.
    private static func statement(_ secret: String, _ punctuated: String) -> String {
        """
        WITH v AS (SELECT '\(secret)'::text AS t, '\(secret)'::bytea AS b, '\(punctuated)'::text AS p),
            beginnings AS (SELECT column1::bytea AS beginning FROM (VALUES (''), ('1'), ('12')) AS w),
            base64url AS (SELECT translate(encode(beginning || b || 'behind'::bytea, 'base64'), E'+/=\\n', '-_') AS t
                FROM v, beginnings),
            base64 AS (SELECT translate(encode(beginning || p::bytea || 'behind'::bytea, 'base64'), E'\\n', '') AS t
                FROM v, beginnings)
        INSERT INTO public.control
        SELECT t, NULL::bytea FROM v UNION ALL SELECT t, NULL FROM base64url UNION ALL SELECT t, NULL FROM base64
        UNION ALL SELECT encode(b, 'hex'), NULL FROM v UNION ALL SELECT upper(encode(b, 'hex')), NULL FROM v
        UNION ALL SELECT regexp_replace(upper(encode(b, 'hex')), '(..)', '%\\1', 'g'), NULL FROM v
        UNION ALL SELECT encode(sha256(b), 'hex'), NULL FROM v
        UNION ALL SELECT translate(encode(sha256(b), 'base64'), E'+/=\\n', '-_'), NULL FROM v
        UNION ALL SELECT NULL, sha256(b) FROM v
        UNION ALL SELECT NULL, decode(translate(t, '-_', '+/') || '=', 'base64') FROM v
        UNION ALL SELECT replace(replace(replace(replace(replace(p, '+', '%2B'), '/', '%2F'), '=', '%3D'), '?', '%3F'),
            '>', '%3E'), NULL FROM v
        """
    }

    /// A form may have words before the name, as digests do.
    static func isOne(_ finding: SecretSearch.Finding) -> Bool { finding.form.contains("control: ") }

    static func check(_ findings: Set<SecretSearch.Finding>) {
        // The heap and the WAL.
        for place in ["data/base/", "data/pg_wal/"] {
            for form in [
                "control: a sub", "control: a sealed answer", "control: plain", "control: plain, base64url",
                "control: plain, hexadecimal", "control: plain, URL-encoded", "control: plain, decoded",
                "SHA-256 of control: plain", "SHA-256 of control: plain, hexadecimal",
                "SHA-256 of control: plain, base64url", "control: punctuated, base64",
                "control: punctuated, URL-encoded",
            ] {
                #expect(findings.contains { $0.form == form && $0.file.hasPrefix(place) }, "\(form) in \(place)")
            }
        }
        // The server did log the values that it received.
        #expect(findings.contains { $0.form == "control: plain" && $0.file == "log" })
    }
}
