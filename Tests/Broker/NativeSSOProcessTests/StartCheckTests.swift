import BrokerHarness
import ChildProcesses
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("What forbids a start of serve, and what it warns of", .timeLimit(.minutes(5)))
struct StartCheckTests {
    @Test func `a superuser or a member of the owner role may not serve, unless allowed`() async throws {
        try await Installation.withSchema { installation in
            let name = "owner_\(Unguessable.make().prefix(8).lowercased().filter(\.isLetter))"
            try await installation.cluster.makeLogin(role: name, "IN ROLE native_sso_admin")
            let member = installation.cluster.connectionURI(database: installation.database, user: name)
            for (environment, words) in [
                ([:], " is a superuser, so that "),
                (["NATIVE_SSO_DATABASE_URL": member], "\(name) is a member of native_sso_admin, so that "),
            ] {
                let outcome = try await installation.run(["serve"], environment: environment)
                #expect(outcome.status == 1)
                let last = try #require(outcome.errors.split(separator: "\n").last)
                #expect(
                    last.contains(words) && last.hasSuffix("or write database.allow_owner: true"), "\(outcome.errors)")
            }
            let broker = try await Broker.start(installation, environment: installation.ownerEnvironment)
            try await broker.waitUntilReady()
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
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            try await broker.wait {
                try await $0.post(try Login(installation, sid: "s").exchange(by: "app2")).status == 200
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

            #expect(try await installation.succeed("subject-prefix", "list").contains(Installation.identityProvider))
            try await installation.succeed(
                "subject-prefix", "forget", Installation.identityProvider, "--execute", "--reason", "new names")
            #expect(try await installation.audit().contains { $0.contains("subject_prefix_forgotten") })
            #expect(try await installation.run(check).status == 0)
            let again = try installation.startBroker("changed") { $0.providers[0].subjectPrefix = "partner|" }
            try await again.untilReady(every: .milliseconds(10))
            try await again.stop()
            #expect(try await installation.succeed("subject-prefix", "list").contains("partner|"))
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

    @Test func `the operator is warned of groups and clients that no login can use`() async throws {
        try await Installation.withSchema { installation in
            let group = try await installation.run(["group", "add", "g", "--issuer", "https://unknown.example.com"])
            #expect(group.status == 0)
            #expect(
                group.errors.contains(
                    "warning: https://unknown.example.com is the issuer of none of the identity_providers"))
            let known = try await installation.run(["group", "add", "h", "--issuer", Installation.identityProvider])
            #expect(known.status == 0 && !known.errors.contains("warning: https"))
            let client = try await installation.run(
                ["client", "add", "app", "--audience", "a", "--allowed-scope", "orders,mail"])
            #expect(client.status == 0)
            #expect(client.errors.contains("warning: app: orders,mail is one scope with a comma in its name"))
            #expect(client.errors.contains("warning: app: openid is not among its allowed scopes"))
            let sound = try await installation.run(["client", "update", "app", "--allowed-scope", "openid orders mail"])
            #expect(sound.status == 0 && !sound.errors.contains("warning: app"), "\(sound.errors)")
        }
    }
}
