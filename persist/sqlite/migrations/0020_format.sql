-- How the message of a turn is meant. Events of before do not say it: '' = Markdown.

ALTER TABLE turns ADD COLUMN format TEXT NOT NULL DEFAULT '';
