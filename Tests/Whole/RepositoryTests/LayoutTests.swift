import Foundation
import Testing

struct LayoutTests {
    @Test func theTopLevelHoldsWhatItAlwaysHeld() throws {
        let entries = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
        // Made by the build and never committed.
        let visible = Set(entries.filter { !$0.hasPrefix(".") }).subtracting(["Package.resolved"])
        #expect(
            visible.isSubset(of: ["Package.swift", "Sources", "Tests", "Migrations", "deploy", "README.md"]),
            "\(visible.sorted())")
    }

    /// A reader learns from its head what a file is for, and an operator what a change of a table locks.
    @Test func aMigrationSaysWhatItIsForAndWhatItLocks() throws {
        for migration in try Repository.files(below: "Migrations", suffix: ".sql")
        where migration.path != "Migrations/schema.sql" {
            let comment = migration.lines.prefix { $0.hasPrefix("--") }.joined(separator: "\n")
            let text = migration.lines.joined(separator: "\n")
            #expect(migration.path.contains(/\/(\d{4}_)?[a-z_]+\.sql$/), "\(migration.path)")
            #expect(!comment.isEmpty, "\(migration.path)")
            #expect(
                comment.contains("Locks: ") || !text.contains(/ALTER TABLE \w+\n? *(ADD|DROP|ALTER)/),
                "\(migration.path)")
            // `migrate up` refuses to skip a release, and gives up a lock in time.
            let isNumbered = migration.path.contains(/\/\d{4}_/)
            #expect(comment.contains(/(^|\n)-- Release: \d+\.\d+(\n|$)/) == isNumbered, "\(migration.path)")
            #expect(!isNumbered || !text.contains("lock_timeout"), "\(migration.path)")
        }
    }

    private static let scripts = [
        "deploy/packages", "deploy/build", "deploy/quickstart", "deploy/test", "deploy/verify", "deploy/fuzz",
        "deploy/bench", "deploy/package", "deploy/cluster", ".ci/run", "Tests/Models/check",
    ]

    @Test func everyScriptIsKnown() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root.appending(path: "deploy").path)
        let directories: Set = ["backup", "container", "guide", "kubernetes", "monitoring", "packaging", "proxies"]
        #expect(
            Set(names.filter { !directories.contains($0) && $0 != "steps" }.map { "deploy/" + $0 })
                == Set(Self.scripts.filter { $0.hasPrefix("deploy/") }))
    }

    /// No engine builds the image in these tests.
    @Test func theContainerInstallsTheHeadersOfTheBuild() throws {
        let headers = try Repository.text(of: "deploy/packages").matches(of: /need (lib[a-z0-9-]+-dev|zlib1g-dev)\s/)
        let container = try Repository.text(of: "deploy/container/Containerfile")
        #expect(headers.count >= 5)
        for header in headers { #expect(container.contains(" \(header.1) "), "\(header.1)") }
    }

    /// What a fuzzer finds is many and large; what is kept of it says one thing.
    @Test func aSeedIsSmall() throws {
        for seed in try Repository.urls(below: "Tests/Fuzzing") {
            let size = try seed.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? .max
            #expect(size <= 4096, "\(seed.path)")
        }
    }

    @Test(arguments: scripts)
    func aScriptEndsAtItsFirstFailure(_ path: String) throws {
        let text = try Repository.text(of: path)
        #expect(text.hasPrefix("#!/usr/bin/env bash\n"))
        #expect(text.contains("\nset -euo pipefail\n"))
        #expect(FileManager.default.isExecutableFile(atPath: Repository.root.appending(path: path).path))
    }
}
