import Logging

extension Configuration {
    /// `log`: what goes to standard error while serving.
    struct Log: Sendable, Hashable {
        enum Format: String, Sendable, CaseIterable {
            /// One JSON object a line.
            case json
            /// For people.
            case text
        }

        let level: Logger.Level
        /// `nil`: nothing was said, so that of whoever reads it.
        let format: Format?
    }
}

extension Configuration.Log {
    init(reading section: Section) {
        let levels = Logger.Level.allCases.filter { section.isDevelopment || $0 >= .info }
        level = section.choice("level", default: .info, offering: levels)
        format = section.value("format", Format.parse)
        if level < .info, !section.isDevelopment {
            section.report("level", "\(level) is for development only; write info, notice, warning, error or critical")
        }
    }
}
