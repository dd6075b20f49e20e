import BrokerHarness
import ChildProcesses
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("What forbids a start of serve, and what it warns of", .timeLimit(.minutes(5)))
struct StartCheckTests {
    @Test func `a member of the owner role may not serve, and a superuser only if allowed`() async throws {
        try await Installation.withSchema { installation in
            let name = "owner_\(Unguessable.make().prefix(8).lowercased().filter(\.isLetter))"
            try await installation.cluster.makeLogin(role: name, "IN ROLE native_sso_admin")
            let member = installation.cluster.connectionURI(database: installation.database, user: name)
            let outcome = try await installation.run(["serve"], environment: ["NATIVE_SSO_DATABASE_URL": member])
            #expect(outcome.status == 1)
            let last = try #require(outcome.errors.split(separator: "\n").last)
            #expect(last.contains("\(name) is a member of native_sso_admin, so that "), "\(outcome.errors)")
            #expect(last.hasSuffix("or write database.allow_owner: true"), "\(outcome.errors)")
            let broker = try await installation.startBroker(environment: installation.ownerEnvironment).ready()
            #expect(broker.process.errors.contains("the database role may change everything"))
            try await broker.stop()
        }
    }

    @Test func `a broker that started without its database ends when that refuses it`() async throws {
        try await Installation.withFiles { installation in
            let later = "\(installation.database)_later"
            let broker = try await Broker.start(
                installation,
                environment: ["NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(database: later)])
            #expect(try await broker.get("/livez").status == 200)
            try await installation.cluster.createDatabase(later)
            #expect(await broker.process.exitStatus == 1)
            #expect(broker.process.errors.contains("is a superuser"))
        }
    }

    @Test func `a prefix in use is refused by serve and config check until an administrator forgets it`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            try await broker.wait {
                try await $0.token(try Login(installation, sid: "s").exchange(by: "app2")).status == 200
            }
            try await broker.stop()

            let changed = try installation.startBroker("changed") { $0.providers[0].subjectPrefix = "partner|" }
            #expect(await changed.process.exitStatus == 1)
            let words =
                "identity_providers[0].subject_prefix: users of \(Installation.identityProvider) have names without "
                + "subject_prefix at APIs already"
            #expect(changed.process.errors.contains(words), "\(changed.process.errors)")
            let check = ["--config", installation.file("changed.yaml"), "config", "check"]
            let refused = try await installation.run(check)
            #expect(refused.status == 2 && refused.errors.contains(words), "\(refused.errors)")
            let doctor = try await installation.run(["--config", installation.file("changed.yaml"), "doctor"])
            #expect(doctor.output.contains("FAILED   identity_provider.names"), "\(doctor.output)")

            try await installation.command(
                "subject-prefix", "forget", Installation.identityProvider, "--execute", "--reason", "new names")
            #expect(try await installation.audit().contains { $0.contains("subject_prefix_forgotten") })
            #expect(try await installation.run(check).status == 0)
            let again = try installation.startBroker("changed") { $0.providers[0].subjectPrefix = "partner|" }
            try await again.untilReady(every: .milliseconds(10))
            try await again.stop()
            #expect(try await installation.command("subject-prefix", "list").contains("partner|"))
        }
    }

    @Test func `warnings at the start are lines of the log, also of memory that is not locked`() async throws {
        try await Installation.withSchema { installation in
            // Root may lock memory whatever the limit is.
            let unprivileged = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-ipc_lock"] : []
            let run = try ProgramRun(
                ["/usr/bin/prlimit", "--memlock=0:0"] + unprivileged
                    + [
                        try BuildProducts.path(of: "native-sso"), "--config", installation.file("administration.yaml"),
                        "serve",
                    ],
                environment: ["NATIVE_SSO_TOKENS_REFRESH_GRACE": "0s"], inOwnSession: true, output: nil,
                within: .seconds(60))
            #expect(run.status == 1)
            let lines = run.errors.split(separator: "\n").dropLast().map {
                try? JSONReader.parse(Array($0.utf8)).object
            }
            #expect(!lines.contains(nil), "\(run.errors)")
            let messages = lines.compactMap { $0?.string("msg") }
            #expect(messages.contains("the memory of the keys could not be locked, and may be swapped to disk"))
            let doubtful = lines.compactMap(\.self).filter { $0.string("msg") == "doubtful configuration" }
            #expect(
                doubtful.contains { $0.string("setting") == "tokens.refresh_grace" && $0.string("level") == "warning" })
        }
    }
}
